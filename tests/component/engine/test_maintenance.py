"""Sessions that nobody uses: rolled over and saved, removed by age and number, and never while they are at work."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.maintenance import Action, Reason
from openclaw_workers.domain.messages import Route
from openclaw_workers.engine.client_graph import maintenance_of
from openclaw_workers.engine.maintenance.sessions import ITEM
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.support.moved_time import MovedTime

DAY = 86_400
NOTES, DM = SessionKey("agent:main:notes"), SessionKey("agent:main:telegram:dm:ann")
GROUP, TOPIC = SessionKey("agent:main:telegram:group:7"), SessionKey("agent:main:telegram:group:7:topic:3")
ENFORCED: dict[str, Any] = {"session": {"maintenance": {}}}
TELEGRAM = {"channels": {"telegram": {"enabled": True, "botToken": "1:x"}}}
CHAT = Route(channel="telegram", to="42", account_id="default")
NEVER_RESET = {"mode": "none"}


@pytest.fixture
def moved(redis_client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MovedTime:
    return MovedTime(redis_client, tmp_path / "clock", monkeypatch)


def talk(engine: EngineHarness, *sessions: SessionKey) -> None:
    for session in sessions:
        engine.say("hello", session)
        engine.work()


def walk(engine: EngineHarness) -> dict[str, int]:
    """The fleet's walk to its end; returns what it found, by reason."""
    while True:
        engine.built.maintenance.handle("sessions")
        if engine.stores.session_index.walk() is None:
            break
    last = engine.stores.session_index.last()
    assert last is not None
    return last.done


def there(engine: EngineHarness) -> set[str]:
    return {str(row.session_key) for row in engine.stores.reader.each_session()}


def session_id(engine: EngineHarness, session: SessionKey = SESSION) -> str:
    return engine.stores.reader.row(session).get("sessionId", "")


def test_an_expired_session_is_rolled_over_and_saved_although_no_message_came(
    moved: MovedTime, make_engine: MakeEngine
) -> None:
    engine = make_engine(TELEGRAM)
    talk(engine, SESSION, GROUP)
    before, used = session_id(engine), engine.stores.reader.row(SESSION)["updatedAt"]
    assert walk(engine) == {}

    moved.advance(DAY)
    assert walk(engine) == {Reason.EXPIRED: 2}
    assert session_id(engine) != before
    assert engine.log() == []
    assert engine.events()[-1] == "session.reset"
    assert engine.stores.reader.row(SESSION)["updatedAt"] == used, "a rollover is no use"
    engine.archive_all()
    note = engine.stores.memory_notes.find(before)
    assert note is not None, "the conversation is saved to memory"
    assert note.session_key == SESSION
    assert not engine.stores.outbox.entries(), "nobody is told in the middle of the night"

    assert walk(engine) == {}, "there is nothing left to roll over"
    after = session_id(engine)
    for count in (2, 3):
        engine.say("hello", route=CHAT)
        engine.work()
        assert len(engine.stores.outbox.entries()) == count, "the reset is told once, with the next answer"
    assert session_id(engine) == after, "the message begins in the session that waits for it"


def test_nothing_is_removed_unless_the_block_is_written(moved: MovedTime, make_engine: MakeEngine) -> None:
    engine = make_engine()
    talk(engine, NOTES)
    moved.advance(31 * DAY)
    assert walk(engine)[Reason.UNUSED] == 1
    assert there(engine) == {NOTES}
    warning = make_engine({"session": {"maintenance": {"mode": "warn"}}})
    assert walk(warning)[Reason.UNUSED] == 1
    assert there(engine) == {NOTES}

    assert walk(make_engine(ENFORCED))[Reason.UNUSED] == 1
    assert there(engine) == set()


def test_unused_sessions_are_removed_and_saved_first(moved: MovedTime, make_engine: MakeEngine) -> None:
    engine = make_engine({"session": {"reset": NEVER_RESET, "maintenance": {"pruneAfter": "10d"}}})
    talk(engine, SESSION, NOTES, DM, GROUP, TOPIC)
    conversation = session_id(engine, DM)
    moved.advance(9 * DAY)
    talk(engine, NOTES)
    assert walk(engine) == {}

    moved.advance(2 * DAY)
    assert walk(engine) == {Reason.UNUSED: 4}
    assert there(engine) == {SESSION, NOTES, GROUP, TOPIC}, "where chats lead to stays"
    assert engine.log() == engine.log(GROUP) == []
    assert engine.log(NOTES)
    engine.archive_all()
    note = engine.stores.memory_notes.find(conversation)
    assert note is not None


def test_surplus_sessions_are_removed_but_no_direct_chats_and_no_pointers(
    moved: MovedTime, make_engine: MakeEngine
) -> None:
    engine = make_engine({"session": {"maintenance": {"maxEntries": 3}}})
    older = [SessionKey(f"agent:main:old-{number}") for number in range(4)]
    for session in (SESSION, DM, GROUP, *older):
        talk(engine, session)
        moved.advance(1)

    assert walk(engine) == {Reason.SURPLUS: 1}
    assert there(engine) == {SESSION, DM, GROUP, *older[1:]}


@pytest.mark.parametrize("busy", ["running", "waiting", "used"])
def test_a_session_that_is_at_work_or_used_meanwhile_stays(
    moved: MovedTime, make_engine: MakeEngine, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(ENFORCED)
    talk(engine, NOTES)
    moved.advance(31 * DAY)
    if busy == "used":  # between the look and the script
        look = engine.stores.session_index.facts
        index: Any = engine.built.maintenance._index
        monkeypatch.setattr(type(index), "facts", _then(look, lambda: engine.say("hello", NOTES)))
    else:
        engine.say("more", NOTES)
    if busy == "running":
        assert isinstance(engine.take(NOTES), Taken)

    walk(engine)
    assert there(engine) == {NOTES}
    assert engine.log(NOTES)


def _then(look: Callable[..., Any], act: Callable[[], object]) -> Callable[..., Any]:
    def looked(_self: object, sessions: Any) -> Any:
        found = look(sessions)
        act()
        return found

    return looked


def test_a_walk_goes_in_bounded_steps_that_any_worker_continues(moved: MovedTime, make_engine: MakeEngine) -> None:
    engine = make_engine(ENFORCED)
    now = engine.stores.due.now_ms()
    for number in range(250):  # all of the same millisecond
        key = f"agent:main:s{number}"
        row: Any = {"sessionId": f"id-{number}", "sessionKey": key, "agentId": "main", "updatedAt": now}
        engine.stores.redis.hset(engine.stores.keys.row(key), mapping=row)
        engine.stores.redis.zadd(engine.stores.keys.sessions, {key: now})
    moved.advance(31 * DAY)

    workers, steps = [make_engine(ENFORCED) for _ in range(3)], 0
    while there(engine):
        before = len(there(engine))
        workers[steps % 3].built.maintenance.handle("sessions")
        assert before - len(there(engine)) <= 20
        steps += 1
        assert steps < 20


def test_the_sweep_takes_the_steps_and_looks_again_later(moved: MovedTime, make_engine: MakeEngine) -> None:
    engine = make_engine(ENFORCED)
    talk(engine, NOTES)
    moved.advance(31 * DAY)
    for _ in range(3):
        engine.sweeper.sweep()
        moved.advance(1)
    assert there(engine) == set()
    at = engine.stores.redis.zscore(engine.stores.keys.due, ITEM)
    assert at is not None
    assert at > engine.stores.due.now_ms() + 600_000


def test_cleaning_up_by_hand_shows_what_and_why(moved: MovedTime, make_engine: MakeEngine) -> None:
    engine = make_engine()
    talk(engine, SESSION, NOTES)
    moved.advance(31 * DAY)
    maintenance = maintenance_of(engine.stores, engine.waker, engine.archives)
    shown = {each.session: each for each in maintenance.clean_up(is_dry_run=True)}
    assert {key: each.decision.action for key, each in shown.items()} == {
        SESSION: Action.ROLL_OVER,
        NOTES: Action.REMOVE,
    }
    assert shown[NOTES].decision.why == "unused for 31 days"
    assert not any(each.is_done for each in shown.values())
    assert there(engine) == {SESSION, NOTES}

    assert all(each.is_done for each in maintenance.clean_up(is_dry_run=False))
    assert there(engine) == {SESSION}


def test_archives_are_kept_as_long_as_set(moved: MovedTime, make_engine: MakeEngine) -> None:
    engine = make_engine({"session": {"maintenance": {"resetArchiveRetention": "10d"}}})
    for session in (SESSION, NOTES):
        talk(engine, session)
        engine.control.reset(session)
    old, new = (path for path in engine.archive_all() if path is not None)
    index = old.parent / "sessions.json"
    index.write_text("{}")
    moved.advance(11 * DAY)
    os.utime(new, times=(moved.now(), moved.now()))

    engine.built.archive_files.prune_now_and_then()
    assert (old.exists(), new.exists(), index.exists()) == (False, True, True)
    assert make_engine().built.archive_files._retention is None, "without a setting they are kept for good"
