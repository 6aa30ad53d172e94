"""Jobs at one-second resolution while workers are killed and paused, and Redis is killed and frozen."""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from openclaw_workers.domain.job import JobDraft
from openclaw_workers.domain.messages import Authority
from openclaw_workers.engine.client_graph import jobs_of
from tests.support.fleet import Fleet, WorkerProcess
from tests.support.programs import as_text, program, say
from tests.support.waiting import eventually

JOBS = ("one", "two", "three")
LEASE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class JobChaosPlan:
    faults: int = 6
    workers: int = 3
    seed: int = field(default_factory=lambda: random.randrange(10**6))


def config(**more: Any) -> dict[str, Any]:
    return {"engine": {"leaseSeconds": LEASE_SECONDS, "maxAttempts": 50}, **more}


def add_jobs(fleet: Fleet, names: Sequence[str] = JOBS, **more: Any) -> None:
    """Jobs that fire every second, each in a session of its own, and make up for every time that was missed."""
    jobs = jobs_of(fleet.stores, fleet.waker)
    terms = {"every": "1s", "message": as_text(program(say("ok"))), "overlap": "queue", "misfire": "all", **more}
    for name in names:
        draft = JobDraft(session_target=f"session:{name}", **terms)
        jobs.add(draft, authority=Authority.OWNER, created_by="test", job_id=name)


def times(fleet: Fleet, job: str) -> Counter[int]:
    """The scheduled times (in seconds) that entered the job's session, each with how often it did."""
    found: Counter[int] = Counter()
    for entry in fleet.transcript(job):
        if entry.role == "user" and (
            due := re.search(r"due (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC", entry.content[0].text)
        ):
            found[int(datetime.strptime(due[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())] += 1
    return found


def fired(fleet: Fleet, names: Sequence[str] = JOBS) -> int:
    """How many times the job that is furthest behind has fired."""
    return min(len(times(fleet, job)) for job in names)


def stop_jobs(fleet: Fleet, names: Sequence[str] = JOBS) -> None:
    jobs = jobs_of(fleet.stores, fleet.waker)
    for name in names:
        jobs.pause(name)


def assert_each_time_once(fleet: Fleet, names: Sequence[str] = JOBS) -> None:
    for name in names:
        found = times(fleet, name)
        assert set(found.values()) == {1}, f"{name} fired a time twice: {found}"
        assert sorted(found) == list(range(min(found), max(found) + 1)), f"{name} missed a time"


def run_job_chaos(fleet: Fleet, plan: JobChaosPlan) -> None:
    """Make faults, each after every job has fired again; then let the jobs catch up and stop them."""
    sys.stdout.write(f"seed {plan.seed}\n")
    rng = random.Random(plan.seed)
    workers = [fleet.worker(respawn=True, wait=False) for _ in range(plan.workers)]
    fleet.ready(*workers)
    add_jobs(fleet)
    faults: list[Callable[[], None]] = []
    for _ in range(plan.faults):
        if not faults:
            faults = _faults(fleet, workers, rng)
            rng.shuffle(faults)
        before = fired(fleet)
        eventually(lambda before=before: fired(fleet) >= before + 2, within=120)  # type: ignore[misc]
        faults.pop()()
    fleet.ready(*workers)
    now = int(time.time())
    eventually(lambda: min(max(times(fleet, job)) for job in JOBS) > now, within=180)
    stop_jobs(fleet)


def _faults(fleet: Fleet, workers: Sequence[WorkerProcess], rng: random.Random) -> list[Callable[[], None]]:
    """Each kind once."""
    victim, sleeper = rng.sample(list(workers), 2)
    server = fleet.redis_server

    def kill_worker() -> None:
        so_far = victim.respawns
        victim.kill()
        eventually(lambda: victim.respawns > so_far, within=60)

    def pause_worker() -> None:
        sleeper.pause()
        time.sleep(LEASE_SECONDS * rng.uniform(2, 3))  # past its lease
        sleeper.resume()

    def kill_redis() -> None:
        server.kill()
        time.sleep(rng.uniform(0, 1))
        server.restart()

    def freeze_redis() -> None:
        server.stop()
        time.sleep(LEASE_SECONDS * rng.uniform(1, 2))
        server.cont()

    return [kill_worker, pause_worker, kill_redis, freeze_redis]
