"""Scheduled jobs while workers are killed and paused: each time of a job is accepted exactly once (I7)."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

from openclaw_workers.domain.job import JobDraft
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.engine.client_graph import jobs_of
from tests.faults.conftest import MakeFleet
from tests.support.fleet import Fleet
from tests.support.programs import as_text, program, say
from tests.support.waiting import eventually

JOBS = ("one", "two", "three")
CHAT = Route(channel="telegram", account_id="default", to="42")


def times(fleet: Fleet, job: str) -> Counter[int]:
    """The scheduled times that entered the job's session, each with how often it did."""
    found: Counter[int] = Counter()
    for entry in fleet.transcript(job):
        if entry.role == "user" and (
            due := re.search(r"due (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC", entry.content[0].text)
        ):
            found[int(datetime.strptime(due[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())] += 1
    return found


def fired(fleet: Fleet) -> int:
    """How many times the job that is furthest behind has fired."""
    return min(len(times(fleet, job)) for job in JOBS)


def test_each_time_is_accepted_once_while_workers_are_killed_and_paused(make_fleet: MakeFleet) -> None:
    fleet = make_fleet({"engine": {"leaseSeconds": 1.0}})
    victim, sleeper = fleet.worker(wait=False), fleet.worker(wait=False)
    fleet.ready(victim, sleeper)
    jobs = jobs_of(fleet.stores, fleet.waker)
    for name in JOBS:
        draft = JobDraft(
            every="1s",
            session_target=f"session:{name}",
            message=as_text(program(say("ok"))),
            overlap="queue",
            misfire="all",
        )
        jobs.add(draft, authority=Authority.OWNER, created_by="test", job_id=name)

    eventually(lambda: fired(fleet) >= 2, within=30)
    sleeper.pause()
    eventually(lambda: fired(fleet) >= 5, within=30)
    victim.kill()  # nobody is left until the next one starts
    fleet.worker()
    eventually(lambda: fired(fleet) >= 9, within=60)
    sleeper.resume()
    eventually(lambda: fired(fleet) >= 12, within=60)
    for name in JOBS:
        jobs.pause(name)

    for name in JOBS:
        found = times(fleet, name)
        assert set(found.values()) == {1}, f"{name} fired a time twice"
        assert sorted(found) == list(range(min(found), max(found) + 1)), f"{name} missed a time"


def test_a_reminder_arrives_once_although_the_worker_that_took_it_was_killed(make_fleet: MakeFleet) -> None:
    config = {
        "agents": {"defaults": {"model": "offline/demo"}},
        "channels": {"telegram": {"enabled": True, "botToken": "1:x"}},
    }
    fleet = make_fleet(config)
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
