"""Heartbeats: who beats, when not and why, and what an answer leads to."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.agent.context.history import visible
from openclaw_workers.config.heartbeat import HoursSettings
from openclaw_workers.domain.job import HEARTBEAT
from openclaw_workers.domain.messages import InboxEntry, Route
from openclaw_workers.engine.client_graph import system_events_of
from openclaw_workers.engine.schedules.heartbeat import is_within
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine

OK_PROGRAM = '{"steps": [{"text": "HEARTBEAT_OK fine"}]}'
BEAT = f"{HEARTBEAT}main"
CHAT = Route(channel="telegram", to="42", account_id="default")
TELEGRAM = {"channels": {"telegram": {"enabled": True, "botToken": "1:x"}}}


def beating(make_engine: MakeEngine, block: dict[str, Any] | None = None, **config: Any) -> EngineHarness:
    engine = make_engine({"heartbeat": block or {"target": "last"}, **TELEGRAM, **config})
    engine.say("hello", route=CHAT)
    engine.work()
    engine.built.declared_jobs.sync()
    return engine


def beat(engine: EngineHarness) -> list[str]:
    """Let the heartbeat's time come; returns what its log says, newest first."""
    stores = engine.stores
    stores.schedules.resume(BEAT, stores.due.now_ms() - 1)
    engine.built.due_jobs.handle(BEAT)
    return [f"{entry.state} {entry.reason}".strip() for entry in stores.schedules.log(BEAT)]


def sent(engine: EngineHarness) -> list[str]:
    return [entry.message.text for entry in engine.stores.outbox.entries()]


def write_tasks(engine: EngineHarness, text: str) -> None:
    path = engine.loaded.state_dir / "workspace" / "HEARTBEAT.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_only_agents_with_a_block_or_tasks_beat(make_engine: MakeEngine) -> None:
    engine = make_engine()
    assert engine.built.heartbeats.beating() == []
    write_tasks(engine, "# Tasks\n- [ ]\n<!-- nothing -->\n")
    assert engine.built.heartbeats.beating() == []
    write_tasks(engine, "# Tasks\n- look at the mail\n")
    assert engine.built.heartbeats.beating() == ["main"]

    listed = [{"id": "main"}, {"id": "other", "heartbeat": {"every": "5m"}}]
    some = make_engine({"agents": {"list": listed}})
    assert some.built.heartbeats.beating() == ["other"]
    (engine.loaded.state_dir / "workspace" / "HEARTBEAT.md").unlink()
    assert make_engine({"heartbeat": {"every": "0m"}}).built.heartbeats.beating() == []
    assert make_engine({"heartbeat": {}}).built.heartbeats.beating() == ["main"]
    both = [{"id": "main"}, {"id": "other", "heartbeat": None}]
    assert make_engine({"heartbeat": {}, "agents": {"list": both}}).built.heartbeats.beating() == ["main", "other"]
    nobody = [{"id": "main"}, {"id": "other", "heartbeat": {"every": "0m"}}]
    assert make_engine({"heartbeat": {}, "agents": {"list": nobody}}).built.heartbeats.beating() == []


def test_a_beat_is_a_job_that_every_worker_declares_alike(make_engine: MakeEngine) -> None:
    engine = beating(make_engine, {"every": "5m"})
    (stored,) = engine.stores.schedules.jobs()
    assert (stored.job.id, stored.job.schedule.describe()) == (BEAT, "every 5m")
    again = beating(make_engine, {"every": "5m"})
    assert again.stores.schedules.jobs() == [stored]


@pytest.mark.parametrize(
    ("prepare", "block", "why"),
    [
        ("hours", {"activeHours": {"start": "00:00", "end": "00:01", "timezone": "Pacific/Kiritimati"}}, "quiet-hours"),
        ("hours", {"quietHours": {"start": "00:00", "end": "24:00", "timezone": "UTC"}}, "quiet-hours"),
        ("busy", {}, "requests-in-flight"),
        ("empty", {}, "empty-heartbeat-file"),
        ("group", {"session": "telegram:group:7"}, "group"),
    ],
)
def test_a_beat_is_skipped_with_a_recorded_reason(
    make_engine: MakeEngine, prepare: str, block: dict[str, Any], why: str
) -> None:
    engine = beating(make_engine, {"target": "last", **block})
    if prepare == "busy":
        engine.say("more")
        assert isinstance(engine.take(), Taken)
    if prepare == "empty":
        write_tasks(engine, "# Nothing\n")
    assert beat(engine)[0] == f"skipped {why}"


def test_without_a_route_nobody_is_asked(make_engine: MakeEngine) -> None:
    engine = make_engine({"heartbeat": {"target": "owner"}})
    engine.built.declared_jobs.sync()
    assert beat(engine)[0] == "skipped no-route"


@pytest.mark.parametrize("target", ["none", "telegram"])
def test_an_alert_goes_where_the_block_says(make_engine: MakeEngine, target: str) -> None:
    to = {"to": "7", "accountId": "default"} if target == "telegram" else {}
    engine = beating(make_engine, {"target": target, "prompt": "something burns", **to})
    before = len(sent(engine))
    beat(engine)
    assert engine.work() == 1
    entries = engine.stores.outbox.entries()
    assert len(entries) == before + (target == "telegram")
    if target == "telegram":
        assert entries[0].message.route.to == "7"


def test_an_ok_leaves_no_trace_and_is_not_sent(make_engine: MakeEngine) -> None:
    engine = beating(make_engine, {"target": "last", "prompt": OK_PROGRAM})
    before, seen = sent(engine), visible(engine.log())
    row = engine.stores.reader.row(SESSION)
    beat(engine)
    assert engine.work() == 1

    assert sent(engine) == before
    assert len(engine.log()) > len(seen)
    after = engine.stores.reader.row(SESSION)
    assert after.get("lastInteractionAt") == row.get("lastInteractionAt")
    assert "lastHeartbeatText" not in after
    assert visible(engine.log()) == seen


@pytest.mark.parametrize(("most", "reported"), [(4, 0), (3, 1)])
def test_no_more_than_a_few_characters_count_as_nothing(make_engine: MakeEngine, most: int, reported: int) -> None:
    engine = beating(make_engine, {"target": "last", "prompt": OK_PROGRAM, "ackMaxChars": most})
    before = len(sent(engine))
    beat(engine)
    assert engine.work() == 1
    assert len(sent(engine)) == before + reported


def test_a_beat_has_its_own_model_and_few_files(make_engine: MakeEngine) -> None:
    engine = beating(make_engine, {"target": "last", "model": "offline/demo", "lightContext": True})
    write_tasks(engine, "look at the mail\n")
    (engine.loaded.state_dir / "workspace" / "AGENTS.md").write_text("be brief\n")
    beat(engine)
    taken = engine.take()
    prepared = engine.built.preparer.prepare(taken, [InboxEntry.model_validate_json(taken.bound[0])])

    assert prepared.agent.primary == "offline/demo"
    system = prepared.setup.whole_system
    assert "look at the mail" in system
    assert "be brief" not in system


def test_an_alert_is_sent_once_a_day(make_engine: MakeEngine) -> None:
    engine = beating(make_engine, {"target": "last", "prompt": "something burns", "minSpacing": "0s"})
    before = len(sent(engine))
    beat(engine)
    assert engine.work() == 1
    assert len(sent(engine)) == before + 1
    reported = engine.stores.reader.row(SESSION)["lastHeartbeatText"]
    assert reported == sent(engine)[0]

    engine.built.due_firings.handle(_open(engine))
    beat(engine)
    assert engine.work() == 1
    assert len(sent(engine)) == before + 1


def _open(engine: EngineHarness) -> str:
    (time,) = engine.stores.redis.hkeys(engine.stores.keys.job_firings(BEAT))
    return f"{BEAT} {time!s}"


@pytest.mark.parametrize(("spacing", "said"), [("30s", "skipped min-spacing"), ("0s", "ok")])
def test_beats_keep_their_distance(make_engine: MakeEngine, spacing: str, said: str) -> None:
    engine = beating(make_engine, {"target": "last", "prompt": OK_PROGRAM, "minSpacing": spacing})
    beat(engine)
    assert engine.work() == 1
    engine.built.due_firings.handle(_open(engine))
    assert beat(engine)[0] == said
    assert len(engine.waker.turns) == (said == "ok")


def test_a_beat_that_found_its_session_busy_is_tried_again_soon(make_engine: MakeEngine) -> None:
    engine = beating(make_engine, {"target": "last", "prompt": OK_PROGRAM})
    engine.say("more")
    for _ in range(2):
        assert beat(engine) == ["skipped requests-in-flight"], "one line, however often it is tried"
    stored = engine.stores.schedules.get(BEAT)
    assert stored is not None
    assert stored.state.next_at is not None
    assert 0 < stored.state.next_at - engine.stores.due.now_ms() <= 15_000
    engine.work()
    beat(engine)
    assert engine.work() == 1


@pytest.mark.parametrize("history", [True, False])
def test_a_beat_without_history_sees_only_itself(make_engine: MakeEngine, history: bool) -> None:
    engine = beating(make_engine, {"target": "last", "history": history})
    beat(engine)
    taken = engine.take()
    prepared = engine.built.preparer.prepare(taken, [InboxEntry.model_validate_json(taken.bound[0])])
    seen = "".join(entry.model_dump_json() for entry in prepared.history)
    assert "HEARTBEAT.md" in seen
    assert ("hello" in seen) is history


def test_the_prompt_of_an_agent_that_beats_says_so(make_engine: MakeEngine) -> None:
    def system(config: dict[str, Any]) -> str:
        return make_engine(config).built.frames.default("main").setup.whole_system

    assert "## Heartbeats" not in system({})
    assert "## Heartbeats" in system({"heartbeat": {}})
    assert "look into the garden" in system({"heartbeat": {"prompt": "look into the garden"}})
    assert "## Heartbeats" not in system({"heartbeat": {}, "agents": {"defaults": {"promptMode": "minimal"}}})
    engine = make_engine()
    write_tasks(engine, "- look at the mail\n")
    assert "## Heartbeats" in engine.built.frames.default("main").setup.whole_system


def test_a_worker_that_does_not_see_the_file_leaves_the_heartbeat_to_those_who_do(make_engine: MakeEngine) -> None:
    engine = make_engine()
    write_tasks(engine, "- look at the mail\n")
    engine.built.declared_jobs.sync()
    (engine.loaded.state_dir / "workspace" / "HEARTBEAT.md").unlink()
    make_engine().built.declared_jobs.sync()
    assert engine.stores.schedules.get(BEAT) is not None

    engine.built.declared_jobs.sync()
    assert engine.stores.schedules.get(BEAT) is None, "who has seen it go removes it"


def test_events_that_wait_are_reason_enough(make_engine: MakeEngine) -> None:
    engine = beating(make_engine)
    write_tasks(engine, "# Nothing\n")
    system_events_of(engine.stores, engine.waker).add(SESSION, source="exec", text="the build is over", key="k")
    beat(engine)
    assert engine.work() == 1
    assert "the build is over" in "".join(entry.model_dump_json() for entry in engine.log())


@pytest.mark.parametrize(
    ("start", "end", "at", "expected"),
    [
        ("09:00", "18:00", 9, True),
        ("09:00", "18:00", 18, False),
        ("22:00", "06:00", 23, True),
        ("22:00", "06:00", 7, False),
    ],
)
def test_hours_reach_past_midnight(start: str, end: str, at: int, expected: bool) -> None:
    hours = HoursSettings(start=start, end=end, timezone="UTC")
    assert is_within(hours, at * 3_600_000, "UTC") is expected
    assert is_within(HoursSettings(start=start, end=end), at * 3_600_000, "UTC") is expected
