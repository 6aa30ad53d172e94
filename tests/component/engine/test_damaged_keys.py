"""Keys of a session that hold another type than they should: told, kept, and no reason to stop serving it."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.engine.mending import mend
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.keys import Keys
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.other_worker import die, take_elsewhere

KINDS = [key.rpartition(":")[2] for key in Keys().of_session(SESSION)]


def spoil(engine: EngineHarness, kind: str) -> str:
    key = f"{engine.stores.keys.namespace}:s:{SESSION}:{kind}"
    engine.stores.redis.delete(key)
    engine.stores.redis.set(key, "junk")
    return key


def say(engine: EngineHarness, text: str) -> str:
    queued = engine.say(json.dumps({"steps": [{"text": text}]}))
    engine.work()
    return engine.run_of(queued).text or ""


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_message_is_answered_whichever_key_is_damaged(engine: EngineHarness, kind: str) -> None:
    assert say(engine, "before") == "before"
    key = spoil(engine, kind)

    assert say(engine, "after") == "after"

    if kind not in ("batches", "children", "live", "files"):  # those no turn without sub-agents looks at
        (note,) = engine.stores.reader.quarantined()
        assert note["where"] == f"session {SESSION}"
        assert note["why"].startswith(f"{key} held a string where a ")
        kept = note["why"].rpartition(" ")[2]
        assert engine.stores.redis.get(kept) == "junk"
        assert 0 < int(engine.stores.redis.ttl(kept)) <= 30 * 86_400


@pytest.mark.parametrize("kind", ["log", "row", "events", "receipts"])
def test_what_is_damaged_while_a_message_waits_costs_no_message(engine: EngineHarness, kind: str) -> None:
    queued = engine.say(json.dumps({"steps": [{"text": "answer"}]}))
    spoil(engine, kind)

    engine.work()

    assert engine.run_of(queued).text == "answer"
    assert [entry.role for entry in engine.log()] == ["user", "assistant"]


def test_a_sweep_that_cannot_read_a_session_mends_it(engine: EngineHarness) -> None:
    engine.say(json.dumps({"steps": [{"text": "never"}]}))
    take_elsewhere(engine)
    spoil(engine, "events")

    die(engine)
    die(engine)

    assert [note["where"] for note in engine.stores.reader.quarantined()].count(f"session {SESSION}") == 1
    assert say(engine, "after") == "after"


def spoil_run(engine: EngineHarness) -> str:
    key = engine.stores.keys.run(engine.ctl("run"))
    engine.stores.redis.delete(key)
    engine.stores.redis.set(key, "junk")
    return key


def test_the_next_message_is_answered_though_the_last_run_is_damaged(engine: EngineHarness) -> None:
    assert say(engine, "before") == "before"
    key = spoil_run(engine)

    assert say(engine, "after") == "after"

    (note,) = engine.stores.reader.quarantined()
    assert note["why"].startswith(f"{key} held a string where a hash belongs")
    assert not engine.stores.redis.exists(key)


def test_a_message_is_answered_though_the_record_of_its_run_is_damaged(engine: EngineHarness) -> None:
    queued = engine.say(json.dumps({"steps": [{"text": "answer"}]}))
    spoil_run(engine)

    engine.work()

    run = engine.run_of(queued)
    assert (run.text, run.state, run.agent_id, run.lane) == ("answer", "ok", "main", "main")


def test_a_run_whose_record_is_damaged_is_taken_over_like_any_other(engine: EngineHarness) -> None:
    queued = engine.say(json.dumps({"steps": [{"text": "answer"}]}))
    take_elsewhere(engine)
    engine.waker.turns.clear()
    spoil_run(engine)

    die(engine)
    die(engine)
    engine.work()

    assert engine.run_of(queued).text == "answer"
    assert say(engine, "after") == "after"


@pytest.mark.parametrize("verb", ["reset", "delete"])
def test_a_session_is_ended_though_the_record_of_its_run_is_damaged(engine: EngineHarness, verb: str) -> None:
    engine.say(json.dumps({"steps": [{"text": "never"}]}))
    spoil_run(engine)

    getattr(engine.control, verb)(SESSION)

    assert say(engine, "after") == "after"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["reset", "delete"])
def test_a_session_is_ended_whichever_key_is_damaged(engine: EngineHarness, verb: str, kind: str) -> None:
    assert say(engine, "before") == "before"
    spoil(engine, kind)

    getattr(engine.control, verb)(SESSION)

    row = engine.stores.reader.session(SESSION)
    assert (row is None) == (verb == "delete")
    assert row is None or row.turns == 0
    assert engine.stores.redis.zcard(engine.stores.keys.sessions) == (verb == "reset")
    assert engine.log() == []
    assert say(engine, "after") == "after"


@pytest.mark.parametrize("state", ["bogus", ""])
def test_a_session_in_a_state_that_there_is_not_answers_the_next_message(engine: EngineHarness, state: str) -> None:
    assert say(engine, "before") == "before"
    fence = int(engine.ctl("fence"))
    engine.set_ctl("state", state)

    assert say(engine, "after") == "after"

    (note,) = engine.stores.reader.quarantined()
    assert note["where"] == f"session {SESSION}"
    assert f"held the state {state!r}, which there is not; it goes on as idle" in note["why"]
    assert int(engine.ctl("fence")) == fence + 1
    assert [entry.role for entry in engine.log()] == ["user", "assistant"] * 2


def test_a_message_that_waits_is_answered_whatever_state_its_session_is_in(engine: EngineHarness) -> None:
    queued = engine.say(json.dumps({"steps": [{"text": "answer"}]}))
    engine.set_ctl("state", "bogus")

    engine.work()

    assert engine.run_of(queued).text == "answer"
    assert "it goes on as queued" in engine.stores.reader.quarantined()[0]["why"]


def test_a_sweep_finds_a_session_in_a_state_that_there_is_not(engine: EngineHarness) -> None:
    queued = engine.say(json.dumps({"steps": [{"text": "answer"}]}))
    engine.waker.turns.clear()
    engine.set_ctl("state", "bogus")

    for _ in range(2):
        engine.stores.redis.zadd(engine.stores.keys.due, {f"turn|{SESSION}": 1})
        engine.sweeper.sweep()
    assert engine.ctl("state") == "queued"
    engine.work()

    assert engine.run_of(queued).text == "answer"


def test_an_owner_keeps_its_turn_whatever_state_its_session_is_in(engine: EngineHarness) -> None:
    first = engine.say(json.dumps({"steps": [{"text": "first"}]}))
    taken = take_elsewhere(engine)
    engine.waker.turns.clear()
    engine.set_ctl("state", "bogus")

    second = engine.say(json.dumps({"steps": [{"text": "second"}]}))

    assert (engine.ctl("state"), engine.ctl("lease")) == ("running", taken.lease.token)
    assert engine.waker.turns == []
    die(engine)
    engine.work()
    assert [engine.run_of(queued).text for queued in (first, second)] == ["first", "second"]


def test_what_fits_is_left_alone(engine: EngineHarness) -> None:
    say(engine, "before")

    assert engine.stores.sessions.set_aside(SESSION) == []

    assert [entry.role for entry in engine.log()] == ["user", "assistant"]


def test_a_redis_that_is_away_is_no_reason_to_fail(engine: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object) -> list[str]:
        raise StoreUnavailable("away")

    monkeypatch.setattr(engine.stores.sessions, "set_aside", away)
    assert not mend(engine.stores.sessions, engine.stores.reader, SESSION)
