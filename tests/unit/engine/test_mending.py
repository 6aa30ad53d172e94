"""Keys of a session that hold another type than they should: told, kept, and no reason to stop serving it."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.engine.mending import mend
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.keys import Keys
from tests.unit.engine.conftest import SESSION, House
from tests.unit.engine.elsewhere import die, take_elsewhere

KINDS = [key.rpartition(":")[2] for key in Keys().of_session(SESSION)]


def spoil(house: House, kind: str) -> str:
    key = f"{house.stores.keys.namespace}:s:{SESSION}:{kind}"
    house.stores.redis.delete(key)
    house.stores.redis.set(key, "junk")
    return key


def say(house: House, text: str) -> str:
    queued = house.say(json.dumps({"steps": [{"text": text}]}))
    house.work()
    return house.run_of(queued).text or ""


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_message_is_answered_whichever_key_is_damaged(house: House, kind: str) -> None:
    assert say(house, "before") == "before"
    key = spoil(house, kind)

    assert say(house, "after") == "after"

    if kind not in ("batches", "children", "live", "files"):  # those no turn without sub-agents looks at
        (note,) = house.stores.reader.quarantined()
        assert note["where"] == f"session {SESSION}"
        assert note["why"].startswith(f"{key} held a string where a ")
        kept = note["why"].rpartition(" ")[2]
        assert house.stores.redis.get(kept) == "junk"
        assert 0 < int(house.stores.redis.ttl(kept)) <= 30 * 86_400


@pytest.mark.parametrize("kind", ["log", "row", "events", "receipts"])
def test_what_is_damaged_while_a_message_waits_costs_no_message(house: House, kind: str) -> None:
    queued = house.say(json.dumps({"steps": [{"text": "answer"}]}))
    spoil(house, kind)

    house.work()

    assert house.run_of(queued).text == "answer"
    assert [entry.role for entry in house.log()] == ["user", "assistant"]


def test_a_sweep_that_cannot_read_a_session_mends_it(house: House) -> None:
    house.say(json.dumps({"steps": [{"text": "never"}]}))
    take_elsewhere(house)
    spoil(house, "events")

    die(house)
    die(house)

    assert [note["where"] for note in house.stores.reader.quarantined()].count(f"session {SESSION}") == 1
    assert say(house, "after") == "after"


def spoil_run(house: House) -> str:
    key = house.stores.keys.run(house.ctl("run"))
    house.stores.redis.delete(key)
    house.stores.redis.set(key, "junk")
    return key


def test_the_next_message_is_answered_though_the_last_run_is_damaged(house: House) -> None:
    assert say(house, "before") == "before"
    key = spoil_run(house)

    assert say(house, "after") == "after"

    (note,) = house.stores.reader.quarantined()
    assert note["why"].startswith(f"{key} held a string where a hash belongs")
    assert not house.stores.redis.exists(key)


def test_a_message_is_answered_though_the_record_of_its_run_is_damaged(house: House) -> None:
    queued = house.say(json.dumps({"steps": [{"text": "answer"}]}))
    spoil_run(house)

    house.work()

    run = house.run_of(queued)
    assert (run.text, run.state, run.agent_id, run.lane) == ("answer", "ok", "main", "main")


def test_a_run_whose_record_is_damaged_is_taken_over_like_any_other(house: House) -> None:
    queued = house.say(json.dumps({"steps": [{"text": "answer"}]}))
    take_elsewhere(house)
    house.waker.turns.clear()
    spoil_run(house)

    die(house)
    die(house)
    house.work()

    assert house.run_of(queued).text == "answer"
    assert say(house, "after") == "after"


@pytest.mark.parametrize("verb", ["reset", "delete"])
def test_a_session_is_ended_though_the_record_of_its_run_is_damaged(house: House, verb: str) -> None:
    house.say(json.dumps({"steps": [{"text": "never"}]}))
    spoil_run(house)

    getattr(house.control, verb)(SESSION)

    assert say(house, "after") == "after"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["reset", "delete"])
def test_a_session_is_ended_whichever_key_is_damaged(house: House, verb: str, kind: str) -> None:
    assert say(house, "before") == "before"
    spoil(house, kind)

    getattr(house.control, verb)(SESSION)

    row = house.stores.reader.session(SESSION)
    assert (row is None) == (verb == "delete")
    assert row is None or row.turns == 0
    assert house.stores.redis.zcard(house.stores.keys.sessions) == (verb == "reset")
    assert house.log() == []
    assert say(house, "after") == "after"


@pytest.mark.parametrize("state", ["bogus", ""])
def test_a_session_in_a_state_that_there_is_not_answers_the_next_message(house: House, state: str) -> None:
    assert say(house, "before") == "before"
    fence = int(house.ctl("fence"))
    house.set_ctl("state", state)

    assert say(house, "after") == "after"

    (note,) = house.stores.reader.quarantined()
    assert note["where"] == f"session {SESSION}"
    assert f"held the state {state!r}, which there is not; it goes on as idle" in note["why"]
    assert int(house.ctl("fence")) == fence + 1
    assert [entry.role for entry in house.log()] == ["user", "assistant"] * 2


def test_a_message_that_waits_is_answered_whatever_state_its_session_is_in(house: House) -> None:
    queued = house.say(json.dumps({"steps": [{"text": "answer"}]}))
    house.set_ctl("state", "bogus")

    house.work()

    assert house.run_of(queued).text == "answer"
    assert "it goes on as queued" in house.stores.reader.quarantined()[0]["why"]


def test_a_sweep_finds_a_session_in_a_state_that_there_is_not(house: House) -> None:
    queued = house.say(json.dumps({"steps": [{"text": "answer"}]}))
    house.waker.turns.clear()
    house.set_ctl("state", "bogus")

    for _ in range(2):
        house.stores.redis.zadd(house.stores.keys.due, {f"turn|{SESSION}": 1})
        house.sweeper.sweep()
    assert house.ctl("state") == "queued"
    house.work()

    assert house.run_of(queued).text == "answer"


def test_an_owner_keeps_its_turn_whatever_state_its_session_is_in(house: House) -> None:
    first = house.say(json.dumps({"steps": [{"text": "first"}]}))
    taken = take_elsewhere(house)
    house.waker.turns.clear()
    house.set_ctl("state", "bogus")

    second = house.say(json.dumps({"steps": [{"text": "second"}]}))

    assert (house.ctl("state"), house.ctl("lease")) == ("running", taken.lease.token)
    assert house.waker.turns == []
    die(house)
    house.work()
    assert [house.run_of(queued).text for queued in (first, second)] == ["first", "second"]


def test_what_fits_is_left_alone(house: House) -> None:
    say(house, "before")

    assert house.stores.sessions.set_aside(SESSION) == []

    assert [entry.role for entry in house.log()] == ["user", "assistant"]


def test_a_redis_that_is_away_is_no_reason_to_fail(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object) -> list[str]:
        raise StoreUnavailable("away")

    monkeypatch.setattr(house.stores.sessions, "set_aside", away)
    assert not mend(house.stores, SESSION)
