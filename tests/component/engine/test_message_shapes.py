"""A message in an inbox that is JSON, but of another shape than ours: it fails visibly, and the session goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import MessageState, QueueMode
from openclaw_workers.domain.runs import RunState
from tests.component.engine.conftest import SESSION, EngineHarness

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


def spoil(engine: EngineHarness, queued: Queued, field: str, value: object) -> None:
    inbox = engine.stores.keys.inbox(SESSION)
    for raw in map(str, engine.stores.redis.zrange(inbox, 0, -1)):
        body = json.loads(raw)
        if body["id"] == queued.message_id:
            engine.stores.redis.zrem(inbox, raw)
            engine.stores.redis.zadd(inbox, {json.dumps({**body, field: value}): body["seq"]})


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_message_of_the_wrong_shape_fails_and_the_next_is_answered(
    engine: EngineHarness, field: str, value: object
) -> None:
    wrong = engine.say("wrong", mode=QueueMode.FOLLOWUP)
    following = engine.say(ANSWERS, mode=QueueMode.FOLLOWUP)
    spoil(engine, wrong, field, value)

    engine.work()

    assert engine.receipt(wrong).state is MessageState.FAILED
    assert engine.run_of(wrong).state is RunState.ERROR
    assert engine.run_of(following).text == "well"
    assert engine.ctl("state") == "idle"
    assert engine.stores.reader.quarantined() != []


def test_a_message_that_was_cut_off_fails_under_its_id(engine: EngineHarness) -> None:
    queued, inbox = engine.say("hello"), engine.stores.keys.inbox(SESSION)
    (raw,) = map(str, engine.stores.redis.zrange(inbox, 0, -1))
    engine.stores.redis.zrem(inbox, raw)
    engine.stores.redis.zadd(inbox, {raw[:-20]: 1})

    engine.work()

    assert engine.receipt(queued).state is MessageState.FAILED
    assert engine.ctl("state") == "idle"


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_such_a_message_is_in_nobodys_way_while_it_waits(engine: EngineHarness, field: str, value: object) -> None:
    engine.say("first")
    taken = engine.take()
    wrong = engine.say("wrong", mode=QueueMode.STEER)
    spoil(engine, wrong, field, value)
    engine.say("another", mode=QueueMode.STEER)

    engine.turns.step(taken.lease, 1, [], may_steer=True)
    engine.control.stop_session(SESSION)

    assert engine.receipt(wrong).state is MessageState.CANCELLED


@pytest.mark.parametrize(("field", "value"), LENIENT)
def test_what_an_answer_does_not_need_may_be_of_any_shape(engine: EngineHarness, field: str, value: object) -> None:
    queued = engine.say(ANSWERS)
    spoil(engine, queued, field, value)

    engine.work()

    assert engine.run_of(queued).text == "well"


@pytest.mark.parametrize("kept", ['{"a": 1}', '[{"a": 1}, true]', "[", "7"])
def test_a_note_of_dropped_messages_that_cannot_be_read_costs_no_take(engine: EngineHarness, kept: str) -> None:
    queued = engine.say(ANSWERS)
    engine.set_ctl("dropped", kept)

    engine.work()

    assert engine.run_of(queued).text == "well"
