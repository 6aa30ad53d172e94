"""Measurements of scheduled jobs: what those that are not due cost, and whether a burst delays a chat."""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.stage import INSTANT, Stage, seconds
from openclaw_workers.domain.job import Job
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.schedule import At
from openclaw_workers.domain.stored_json import model_json
from openclaw_workers.store.keys import JOB
from tests.support.waiting import eventually

Figures = dict[str, Any]

PORTION = 1_000
DAY_MS = 86_400_000


def idle_jobs(stage: Stage, *, jobs: int = 100_000, sweeps: int = 500) -> Figures:
    """A sweep's claim with no job and with many that are not due. Both are measured twice, in turn."""
    due = stage.cli.stores.due
    none = _claims_ms(stage, sweeps)
    _put(stage, [f"idle-{number}" for number in range(jobs)], due.now_ms() + DAY_MS)
    _settled(stage)
    many = _claims_ms(stage, sweeps)
    _remove(stage)
    _settled(stage)
    none_again = _claims_ms(stage, sweeps)
    a, b = statistics.median([*none, *none_again]), statistics.median(many)
    return {"jobs": jobs, "sweep_ms_without": round(a, 3), "sweep_ms_with": round(b, 3), "ratio": round(b / a, 2)}


def due_burst(stage: Stage, *, jobs: int = 1_000, idle: int = 200) -> Figures:
    """Many isolated jobs due in one second, and chat messages meanwhile: their p95 against that of an idle fleet."""
    stores = stage.cli.stores
    with stage.worker(concurrency=4), stage.worker(concurrency=4, lane="subagent"):
        before = _chats_ms(stage, until=lambda done: done >= idle)
        at = stores.due.now_ms() + 1_000
        _put(stage, [f"burst-{number}" for number in range(jobs)], at)
        while stores.due.now_ms() < at:
            time.sleep(0.01)
        begun, accepted = time.perf_counter(), 0.0

        def over(done: int) -> bool:
            nonlocal accepted
            if not accepted and not _waiting(stage):
                accepted = seconds(begun)
            return bool(accepted) and done >= idle

        during = _chats_ms(stage, until=over)
        _remove(stage)
    a, b = _p95(before), _p95(during)
    return {
        "jobs": jobs,
        "seconds_to_accept_all": round(accepted, 2),
        "idle_p95_ms": round(a, 2),
        "burst_p95_ms": round(b, 2),
        "ratio": round(b / a, 2),
    }


def _settled(stage: Stage) -> None:
    """Wait until Redis has rewritten its file after so many writes: that would be measured too."""
    client: Any = stage.server.client()
    eventually(lambda: not client.info("persistence")["aof_rewrite_in_progress"], within=120, every=0.2)


def _claims_ms(stage: Stage, count: int) -> list[float]:
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        stage.cli.stores.due.claim()
        times.append(seconds(begun) * 1000)
    return times


def _chats_ms(stage: Stage, *, until: Any) -> list[float]:
    times: list[float] = []
    while not until(len(times)):
        begun = time.perf_counter()
        stage.wait(stage.send(f"chat{len(times) % 10}"))
        times.append(seconds(begun) * 1000)
    return times


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _put(stage: Stage, names: list[str], at: int) -> None:
    """Store jobs as the script does, many at once."""
    redis, keys = stage.cli.stores.redis, stage.cli.stores.keys
    for start in range(0, len(names), PORTION):
        with redis.pipeline(transaction=False) as pipe:
            for name in names[start : start + PORTION]:
                job = Job(
                    id=name,
                    agent_id="main",
                    schedule=At(at=at),
                    session_target="isolated",
                    message=INSTANT,
                    model="offline/script",
                    delivery="none",
                    authority=Authority.OWNER,
                )
                pipe.hset(keys.job(name), mapping={"job": model_json(job, by_alias=True), "next_at": str(at)})
                pipe.zadd(keys.jobs, {name: at})
                pipe.zadd(keys.due, {f"{JOB}{name}": at})
            pipe.execute()


def _waiting(stage: Stage) -> bool:
    """Whether a job that is due has not been accepted."""
    redis, keys = stage.cli.stores.redis, stage.cli.stores.keys
    found: Any = redis.zrange(keys.due, 0, -1)
    return any(str(item).startswith(f"{JOB}burst-") for item in found)


def _remove(stage: Stage) -> None:
    schedules = stage.cli.stores.schedules
    redis, keys = stage.cli.stores.redis, stage.cli.stores.keys
    while schedules.count():
        names: Any = redis.zrange(keys.jobs, 0, PORTION - 1)
        with redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.delete(keys.job(str(name)))
                pipe.zrem(keys.due, f"{JOB}{name!s}")
            pipe.zrem(keys.jobs, *names)
            pipe.execute()
