"""Scheduled jobs while workers and Redis are killed and paused: each time of a job is accepted exactly once (I7)."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.engine.client_graph import jobs_of
from tests.faults.conftest import MakeFleet
from tests.support.fleet import Fleet, session_key
from tests.support.job_chaos import (
    JOBS,
    JobChaosPlan,
    add_jobs,
    assert_each_time_once,
    config,
    fired,
    run_job_chaos,
    stop_jobs,
    times,
)
from tests.support.programs import as_text, program, say
from tests.support.waiting import eventually

CHAT = Route(channel="telegram", account_id="default", to="42")
WRONG_CLOCK = str(Path(__file__).parents[1] / "support" / "wrong_clock")


def test_each_time_is_accepted_once_while_workers_are_killed_and_paused(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(config())
    victim, sleeper = fleet.worker(wait=False), fleet.worker(wait=False)
    fleet.ready(victim, sleeper)
    add_jobs(fleet)

    eventually(lambda: fired(fleet) >= 2, within=60)
    sleeper.pause()
    eventually(lambda: fired(fleet) >= 5, within=60)
    victim.kill()  # nobody is left until the next one starts
    fleet.worker()
    eventually(lambda: fired(fleet) >= 9, within=60)
    sleeper.resume()
    eventually(lambda: fired(fleet) >= 12, within=60)
    stop_jobs(fleet)

    assert_each_time_once(fleet)


def test_each_time_is_accepted_once_whatever_is_killed_and_frozen(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(config())
    run_job_chaos(fleet, JobChaosPlan(faults=4))
    assert_each_time_once(fleet)


@pytest.mark.parametrize("wrong_by", ["120", "-120"])
def test_a_worker_whose_clock_is_wrong_changes_nothing(make_fleet: MakeFleet, wrong_by: str) -> None:
    fleet = make_fleet(config())
    path = os.pathsep.join([WRONG_CLOCK, *filter(None, [os.environ.get("PYTHONPATH")])])
    right = fleet.worker(wait=False)
    wrong = fleet.worker(wait=False, PYTHONPATH=path, OCW_WRONG_BY=wrong_by)
    fleet.ready(right, wrong)
    add_jobs(fleet, JOBS[:1])
    eventually(lambda: fired(fleet, JOBS[:1]) >= 3, within=60)
    right.kill()  # now the wrong one decides alone
    eventually(lambda: fired(fleet, JOBS[:1]) >= 7, within=60)
    stop_jobs(fleet, JOBS[:1])

    assert_each_time_once(fleet, JOBS[:1])
    begun = _accepted_at(fleet.stores.reader.transcript(session_key("one")), fleet)
    late = [at - 1000 * due for due, at in zip(sorted(times(fleet, "one")), sorted(begun), strict=False)]
    assert all(0 <= each < 100_000 for each in late), f"fired too early or far too late: {late}"


def _accepted_at(entries: Iterable[TranscriptEntry], fleet: Fleet) -> list[int]:
    """When Redis took each firing into the session, by its own clock."""
    runs = dict.fromkeys(entry.run_id for entry in entries if entry.role == "user" and entry.run_id)
    return [int(fleet.stores.redis.zscore(fleet.stores.keys.runs, RunId(run)) or 0) for run in runs]


def test_several_hosts_never_beat_twice(make_fleet: MakeFleet, tmp_path: Path) -> None:
    prompt = as_text(program(say("HEARTBEAT_OK")))
    block = {"every": "1s", "target": "none", "prompt": prompt, "minSpacing": "0s"}
    # `heartbeat` at the top belongs to the defaults of all agents.
    fleet = make_fleet(config(heartbeat=block, agents={"defaults": {"workspace": {"place": "any"}}}))
    hosts = [fleet.worker(wait=False, state_dir=tmp_path / f"host-{number}") for number in range(3)]
    fleet.ready(*hosts)
    job = "heartbeat-main"
    eventually(lambda: len(_beats(fleet, job)) >= 4, within=60)
    hosts[0].kill()
    hosts[1].pause()
    eventually(lambda: len(_beats(fleet, job)) >= 7, within=60)
    hosts[1].resume()
    eventually(lambda: len(_beats(fleet, job)) >= 9, within=60)
    jobs_of(fleet.stores, fleet.waker).pause(job)

    assert len(fleet.stores.schedules.jobs()) == 1
    assert set(_beats(fleet, job).values()) == {1}, "a time was recorded twice"
    asked = Counter(re.match(rf"cron-{job}-(\d+)", each)[1] for run in fleet.runs() for each in run.covers)  # type: ignore[index]
    assert set(asked.values()) == {1}, f"a time was beaten twice: {asked}"
    assert len(asked) >= len(_beats(fleet, job))


def _beats(fleet: Fleet, job: str) -> Counter[int]:
    return Counter(entry.time for entry in fleet.stores.schedules.log(job, 200) if entry.state == "ok")


def test_a_reminder_arrives_once_although_the_worker_that_took_it_was_killed(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(
        {
            "agents": {"defaults": {"model": "offline/demo"}},
            "channels": {"telegram": {"enabled": True, "botToken": "1:x"}},
        }
    )
    first = fleet.worker()
    asked = fleet.send("remind me in 3 seconds to stretch", route=CHAT)
    assert "stretch" in fleet.outcome(asked).text
    (stored,) = fleet.stores.schedules.jobs()
    assert stored.job.authority is Authority.OWNER
    first.kill()
    fleet.worker()

    eventually(lambda: not fleet.stores.schedules.jobs(), within=60)
    said = [entry.message for entry in fleet.stores.outbox.entries() if "Reminder" in entry.message.text]
    assert [(message.text, message.route) for message in said] == [("⏰ Reminder: stretch", CHAT)]
