"""A message in an inbox that is JSON, but of another shape than ours: it fails visibly, and the session goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.engine.accept import Queued
from openclaw_workers.models.messages import MessageState, QueueMode
from openclaw_workers.models.runs import RunState
from tests.unit.engine.conftest import SESSION, House

ANSWERS = json.dumps({"steps": [{"text": "well"}]})
WRONG: list[tuple[str, Any]] = [
    ("seq", "one"),
    ("seq", None),
    ("accepted_at", []),
    ("kind", 7),
    ("kind", "none of ours"),
    ("text", None),
    ("text", {"a": 1}),
    ("text", True),
    ("sender", {"name": "me"}),
    ("mode", []),
    ("metadata", None),
    ("metadata", "provenance"),
    ("metadata", {"provenance": {"a": 1}}),
    ("metadata", {"exchange": 1, "from": []}),
    ("attachments", "file"),
    ("model", 3),
    ("timeout_seconds", "soon"),
    ("context_tokens", []),
]
LENIENT: list[tuple[str, Any]] = [("debounce_ms", "x"), ("summary", 1), ("address", []), ("model", None)]
"""What does not matter for the answer: the message is answered all the same."""


def spoil(house: House, queued: Queued, field: str, value: object) -> None:
    inbox = house.stores.keys.inbox(SESSION)
    for raw in map(str, house.stores.redis.zrange(inbox, 0, -1)):
        body = json.loads(raw)
        if body["id"] == queued.message_id:
            house.stores.redis.zrem(inbox, raw)
            house.stores.redis.zadd(inbox, {json.dumps({**body, field: value}): body["seq"]})


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_message_of_the_wrong_shape_fails_and_the_next_is_answered(house: House, field: str, value: object) -> None:
    wrong = house.say("wrong", mode=QueueMode.FOLLOWUP)
    following = house.say(ANSWERS, mode=QueueMode.FOLLOWUP)
    spoil(house, wrong, field, value)

    house.work()

    assert house.receipt(wrong).state is MessageState.FAILED
    assert house.run_of(wrong).state is RunState.ERROR
    assert house.run_of(following).text == "well"
    assert house.ctl("state") == "idle"
    assert house.stores.reader.quarantined() != []


def test_a_message_that_was_cut_off_fails_under_its_id(house: House) -> None:
    queued, inbox = house.say("hello"), house.stores.keys.inbox(SESSION)
    (raw,) = map(str, house.stores.redis.zrange(inbox, 0, -1))
    house.stores.redis.zrem(inbox, raw)
    house.stores.redis.zadd(inbox, {raw[:-20]: 1})

    house.work()

    assert house.receipt(queued).state is MessageState.FAILED
    assert house.ctl("state") == "idle"


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_such_a_message_is_in_nobodys_way_while_it_waits(house: House, field: str, value: object) -> None:
    house.say("first")
    taken = house.take()
    wrong = house.say("wrong", mode=QueueMode.STEER)
    spoil(house, wrong, field, value)
    house.say("another", mode=QueueMode.STEER)

    house.turns.step(taken.lease, 1, [], may_steer=True)
    house.control.stop_session(SESSION)

    assert house.receipt(wrong).state is MessageState.CANCELLED


@pytest.mark.parametrize(("field", "value"), LENIENT)
def test_what_an_answer_does_not_need_may_be_of_any_shape(house: House, field: str, value: object) -> None:
    queued = house.say(ANSWERS)
    spoil(house, queued, field, value)

    house.work()

    assert house.run_of(queued).text == "well"


@pytest.mark.parametrize("kept", ['{"a": 1}', '[{"a": 1}, true]', "[", "7"])
def test_a_note_of_dropped_messages_that_cannot_be_read_costs_no_take(house: House, kept: str) -> None:
    queued = house.say(ANSWERS)
    house.set_ctl("dropped", kept)

    house.work()

    assert house.run_of(queued).text == "well"
