"""Scheduled jobs on a real Redis: each time is accepted once, and the job learns how it went."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.job import Job, JobDraft, firing_id
from openclaw_workers.domain.messages import Authority, InboxEntry, Route
from openclaw_workers.domain.runs import Lane, lane_of
from openclaw_workers.domain.schedule import At
from openclaw_workers.engine.client_graph import jobs_of
from openclaw_workers.engine.schedules.service import JobService
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.store.inbox import JobFiring
from openclaw_workers.store.keys import FIRING
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine

TELEGRAM = {"channels": {"telegram": {"enabled": True, "botToken": "1:x"}}}
CHAT = Route(channel="telegram", to="42", account_id="default")


def service(engine: EngineHarness) -> JobService:
    return jobs_of(engine.stores, engine.waker)


def add(engine: EngineHarness, *, current: SessionKey | None = None, **draft: Any) -> Job:
    wanted = JobDraft(**{"message": "say hello", **draft})
    return service(engine).add(wanted, authority=Authority.OWNER, created_by="test", current=current).job


def move(engine: EngineHarness, job: Job, seconds: float) -> int:
    """Let the job's time have come so many seconds ago."""
    stores, at = engine.stores, engine.stores.due.now_ms() - int(seconds * 1000)
    schedule = At(at=at) if isinstance(job.schedule, At) else job.schedule.model_copy(update={"anchor": at})
    stores.schedules.change(job.model_copy(update={"schedule": schedule}), at)
    return at


def fire(engine: EngineHarness, job: Job) -> None:
    engine.built.due_jobs.handle(job.id)


def settle(engine: EngineHarness) -> None:
    """Look at every firing that is at work, as the sweep does."""
    for item in map(str, engine.stores.redis.zrange(engine.stores.keys.due, 0, -1)):
        if item.startswith(FIRING):
            engine.built.due_firings.handle(item.removeprefix(FIRING))


def states(engine: EngineHarness, job: Job) -> list[str]:
    return [entry.state for entry in engine.stores.schedules.log(job.id)]


def test_a_job_fires_when_its_time_has_come_and_is_gone_after_a_success(engine: EngineHarness) -> None:
    job = add(engine, at="10s", session_target="main")
    fire(engine, job)
    assert not engine.waker.turns, "its time has not come"

    time = move(engine, job, 1)
    fire(engine, job)
    (waiting,) = engine.stores.inbox.waiting(SESSION)
    assert (waiting.id, waiting.kind, waiting.authority) == (firing_id(job.id, time), "internal", Authority.OWNER)
    assert engine.work() == 1
    settle(engine)

    assert engine.stores.schedules.get(job.id) is None
    assert states(engine, job) == ["ok"]


def test_a_time_is_accepted_once_however_often_it_is_claimed(engine: EngineHarness) -> None:
    job = add(engine, every="1h", session_target="main")
    time = move(engine, job, 1)
    firing = JobFiring(job.id, time, time + 3_600_000)
    firings = engine.built.due_jobs._firing
    for _ in range(3):
        firings.fire(job, firing)  # three workers that have read the same time
    engine.work()
    settle(engine)
    firings.fire(job, firing)  # a fourth, paused until the turn was over

    assert not engine.stores.inbox.waiting(SESSION)
    assert states(engine, job) == ["ok"]
    stored = engine.stores.schedules.get(job.id)
    assert stored is not None
    assert stored.state.next_at == time + 3_600_000


def test_a_removed_or_paused_job_does_not_fire_although_a_worker_has_claimed_it(engine: EngineHarness) -> None:
    removed, paused = add(engine, every="1h", session_target="main"), add(engine, every="1h", session_target="main")
    times = [move(engine, job, 1) for job in (removed, paused)]
    service(engine).remove(removed.id)
    service(engine).pause(paused.id)
    for job, time in zip((removed, paused), times, strict=True):
        engine.built.due_jobs._firing.fire(job, JobFiring(job.id, time, None))

    assert not engine.stores.inbox.waiting(SESSION)
    service(engine).resume(paused.id)
    move(engine, paused, 1)
    fire(engine, paused)
    assert len(engine.stores.inbox.waiting(SESSION)) == 1


@pytest.mark.parametrize(("misfire", "fired"), [("skip", 1), ("once", 1), ("all", 11)])
def test_missed_times_are_made_up_for_as_the_job_says(engine: EngineHarness, misfire: str, fired: int) -> None:
    job = add(engine, every="1m", misfire=misfire, overlap="queue", session_target="main")
    first = move(engine, job, 601)  # ten minutes of downtime; the newest time is only a second old
    fire(engine, job)

    waiting = engine.stores.inbox.waiting(SESSION)
    assert len(waiting) == fired
    assert waiting[-1].id == firing_id(job.id, first + 600_000)
    after = engine.stores.schedules.get(job.id)
    assert after is not None
    assert after.state.next_at == first + 660_000
    assert states(engine, job) == ([] if misfire == "all" else ["missed"])


@pytest.mark.parametrize(("overlap", "waiting"), [("skip", 1), ("queue", 2)])
def test_a_time_that_comes_while_the_one_before_is_at_work(engine: EngineHarness, overlap: str, waiting: int) -> None:
    job = add(engine, every="1h", overlap=overlap, session_target="main")
    for _ in range(2):
        move(engine, job, 1)
        fire(engine, job)

    assert len(engine.stores.inbox.waiting(SESSION)) == waiting
    assert states(engine, job) == (["skipped"] if overlap == "skip" else [])


def test_an_isolated_job_runs_in_a_session_of_its_own_under_its_own_cap(make_engine: MakeEngine) -> None:
    engine = make_engine({**TELEGRAM, "cron": {"maxConcurrent": 1, "sessionRetention": "2h"}})
    engine.say("hello", route=CHAT)
    engine.work()
    before = engine.stores.outbox.counts().queued
    job = add(engine, every="1h", session_target="isolated", channel="telegram", to="42", account_id="default")
    time = move(engine, job, 1)
    fire(engine, job)
    ((session, _),) = engine.waker.turns
    assert session == f"agent:main:cron:{job.id}:run:{time}"
    assert lane_of(session) is Lane.CRON
    assert engine.stores.caps[Lane.CRON] == 1
    engine.work()
    settle(engine)
    settle(engine)

    entries = engine.stores.outbox.entries()
    assert len(entries) == before + 1
    assert entries[0].id == f"out-cron-{job.id}-{time}"
    assert entries[0].message.route == CHAT
    assert states(engine, job) == ["ok"]
    row = engine.stores.reader.session(session)
    assert row is not None
    assert row.archive_after_ms == 7_200_000
    assert engine.stores.redis.zscore(engine.stores.keys.due, f"cleanup|{session}")


def test_the_send_policy_holds_for_jobs_too(make_engine: MakeEngine) -> None:
    rules = [{"action": "deny", "match": {"keyPrefix": "cron:"}}]
    engine = make_engine({**TELEGRAM, "session": {"sendPolicy": {"rules": rules}}})
    job = add(engine, every="1h", session_target="isolated", channel="telegram", to="42")
    move(engine, job, 1)
    fire(engine, job)
    engine.work()
    settle(engine)

    assert states(engine, job) == ["ok"]
    assert not engine.stores.outbox.entries()


def test_an_answer_of_a_job_in_a_chats_session_goes_to_that_chat(make_engine: MakeEngine) -> None:
    engine = make_engine(TELEGRAM)
    engine.say("hello", route=CHAT)
    engine.work()
    job = add(engine, at="1h", current=SESSION)
    assert job.session_target == f"session:{SESSION}"
    move(engine, job, 1)
    fire(engine, job)
    engine.work()

    first, second = engine.stores.outbox.entries()
    assert first.message.route == second.message.route == CHAT
    assert {first.message.kind, second.message.kind} == {"reply", "announce"}


def test_a_system_event_is_reported_once_and_wakes_the_session(engine: EngineHarness) -> None:
    job = add(engine, at="1h", message="", system_event="the backup is due")
    time = move(engine, job, 1)
    for _ in range(2):
        engine.built.due_jobs._firing.fire(job, JobFiring(job.id, time, None))
    assert engine.work() == 1

    reported = [entry for entry in engine.log() if getattr(entry, "provenance", "") == "system_event"]
    assert len(reported) == 1
    assert "the backup is due" in reported[0].model_dump_json()
    assert states(engine, job) == ["ok"]
    assert engine.stores.schedules.get(job.id) is None


def test_a_job_is_paused_after_ten_failures_in_a_row_and_its_chat_is_notified(make_engine: MakeEngine) -> None:
    engine = make_engine(TELEGRAM)
    job = add(engine, every="1h", session_target="main", channel="telegram", to="42", account_id="default")
    for number in range(10):
        move(engine, job, 1 + number / 10)
        fire(engine, job)
        assert engine.stores.redis.hlen(engine.stores.keys.job_firings(job.id)) == 1, number
        engine.control.reset(SESSION)  # its message is cancelled
        settle(engine)
        engine.waker.turns.clear()

    stored = engine.stores.schedules.get(job.id)
    assert stored is not None
    assert stored.state.paused == "10 failures in a row"
    assert stored.state.next_at is None
    said = [entry.message.text for entry in engine.stores.outbox.entries()]
    assert any("is paused" in text for text in said), said


def test_a_failure_that_may_pass_is_tried_again_and_another_one_ends_a_single_job(engine: EngineHarness) -> None:
    store, now = engine.stores.schedules, engine.stores.due.now_ms()
    tried, ended = add(engine, at="1h", session_target="main"), add(engine, at="1h", session_target="main")
    for job, is_transient in ((tried, True), (ended, False)):
        time = move(engine, job, 1)
        fire(engine, job)
        assert store.settle(job.id, time, state="error", reason="x", is_transient=is_transient) is not None
        assert store.settle(job.id, time, state="error", reason="x") is None, "a firing ends once"

    again, over = store.get(tried.id), store.get(ended.id)
    assert again is not None
    assert over is not None
    assert (again.state.next_at or 0) >= now + 29_000
    assert over.state.paused
    assert over.state.next_at is None


@pytest.mark.parametrize(("reason", "is_retried"), [("timeout", True), ("cut", True), ("auth", False)])
def test_the_reason_of_a_failure_decides_whether_a_job_is_tried_again(
    engine: EngineHarness, reason: str, is_retried: bool
) -> None:
    failing = json.dumps({"steps": [{"text": "half", "fail": reason}] * 9})
    job = add(engine, at="1h", session_target="main", message=failing)
    move(engine, job, 1)
    fire(engine, job)
    engine.work()
    settle(engine)

    stored = engine.stores.schedules.get(job.id)
    assert stored is not None
    assert (stored.state.next_at is not None, stored.state.paused == "") == (is_retried, is_retried)


def test_only_the_tools_that_a_job_allows_are_there(engine: EngineHarness) -> None:
    job = add(engine, at="1h", session_target="main", tools_allow=("read",), light_context=True)
    move(engine, job, 1)
    fire(engine, job)
    taken = engine.take()
    bound = engine.stores.inbox.waiting(SESSION) or []
    assert not bound
    entry = json.loads(taken.bound[0])
    assert entry["metadata"]["toolsAllow"] == "read"
    prepared = engine.built.preparer.prepare(taken, [InboxEntry.model_validate(entry)])
    assert list(prepared.setup.tools) == ["read"]
    assert [spec.name for spec in prepared.setup.specs] == ["read"]


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        ({}, "one of at, every and cron; none is given"),
        ({"at": "1h", "every": "1h"}, "at and every are given"),
        ({"at": "2020-01-01T00:00"}, "its time has passed"),
        ({"at": "1h", "message": ""}, "either a message or a systemEvent"),
        (
            {"at": "1h", "message": "", "system_event": "x", "session_target": "isolated"},
            "an isolated job needs a message",
        ),
        ({"at": "1h", "session_target": "current"}, "no current session"),
        ({"at": "1h", "model": "nosuch/x"}, "is not a model"),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(engine: EngineHarness, draft: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        add(engine, **draft)
    assert engine.stores.schedules.count() == 0


def test_a_job_is_changed_and_run_by_hand(engine: EngineHarness) -> None:
    jobs = service(engine)
    job = add(engine, every="1h", session_target="main", name="Tea time")
    first = jobs.get(job.id).state.next_at
    assert jobs.change(job.id, {"message": "another"}).state.next_at == first
    assert jobs.change(job.id, {"cron": "@daily", "tz": "Europe/Berlin"}).job.schedule.describe() == (
        "cron @daily (Europe/Berlin)"
    )
    jobs.run(job.id)
    assert engine.work() == 1
    settle(engine)
    assert states(engine, job) == ["ok"]
    with pytest.raises(NotFound):
        jobs.change("nosuch", {})


def test_declared_jobs_follow_the_configuration(make_engine: MakeEngine) -> None:
    declared = {
        "report": {"cron": "0 9 * * *", "tz": "UTC", "message": "report"},
        "ping": {"every": "1h", "message": "x"},
    }
    engine = make_engine({"cron": {"jobs": declared}})
    engine.built.declared_jobs.sync()
    before = {each.job.id: each.state.next_at for each in engine.stores.schedules.jobs()}
    assert before.keys() == {"report", "ping"}
    again = make_engine({"cron": {"jobs": declared}})
    again.built.declared_jobs.sync()
    assert {each.job.id: each.state.next_at for each in engine.stores.schedules.jobs()} == before
    with pytest.raises(BadInput, match="declared in the configuration"):
        service(engine).remove("ping")

    fewer = make_engine({"cron": {"jobs": {"report": declared["report"]}}})
    fewer.built.declared_jobs.sync()
    assert [each.job.id for each in engine.stores.schedules.jobs()] == ["report"]


def test_every_field_of_a_declared_job_is_stored(make_engine: MakeEngine) -> None:
    fields: dict[str, Any] = {
        "name": "n", "agentId": "main", "sessionTarget": "isolated", "message": "m", "model": "offline/demo",
        "thinking": "low", "timeoutSeconds": 9, "lightContext": True, "toolsAllow": ["read"], "delivery": "none",
        "channel": "telegram", "to": "7", "accountId": "a", "threadId": "t", "misfire": "all", "misfireWindow": "3h",
        "overlap": "queue", "deleteAfterRun": True, "fallbacks": ["offline/script"],
    }  # fmt: skip
    event = {"systemEvent": "e", "wakeMode": "next-heartbeat", "every": "1h", "anchor": "2026-01-01T00:00Z"}
    jobs = {
        "a": {**fields, "cron": "@daily", "tz": "Europe/Berlin"},
        "b": event,
        "c": {"at": "2999-01-01T00:00Z", "message": "m"},
    }
    engine = make_engine({"cron": {"jobs": jobs}})
    engine.built.declared_jobs.sync()
    stored = {each.job.id: each.job for each in engine.stores.schedules.jobs()}

    shown = stored["a"].model_dump(mode="json", by_alias=True)
    assert {name: shown[name] for name in fields} == fields
    assert stored["a"].schedule.describe() == "cron @daily (Europe/Berlin)"
    assert (stored["b"].system_event, stored["b"].wake_mode) == ("e", "next-heartbeat")
    assert stored["b"].schedule.model_dump() == {"kind": "every", "every": 3_600_000, "anchor": 1_767_225_600_000}
    assert stored["c"].schedule == At(at=32_472_144_000_000)


def test_switched_off_nothing_fires(make_engine: MakeEngine) -> None:
    engine = make_engine({"cron": {"enabled": False, "jobs": {"x": {"every": "1h", "message": "x"}}}})
    job = add(engine, every="1h", session_target="main")
    move(engine, job, 1)
    engine.sweeper.sweep()

    assert not engine.waker.turns
    assert [each.job.id for each in engine.stores.schedules.jobs()] == [job.id]


def test_the_sweep_fires_what_is_due_and_keeps_a_bounded_log(make_engine: MakeEngine) -> None:
    engine = make_engine({"cron": {"runLogEntries": 2}})
    job = add(engine, every="1h", session_target="main")
    for number in range(4):
        move(engine, job, 1 + number / 10)
        engine.sweeper.sweep()
        assert engine.work() == 1
        engine.sweeper.sweep()

    assert states(engine, job) == ["ok", "ok"]
