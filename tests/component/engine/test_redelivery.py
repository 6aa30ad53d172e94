"""A channel delivers a message again: it is answered once, and a command takes effect once."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import Authority, MessageState, QueueMode, Route
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.engine.intake.clean_text import message_id_for
from openclaw_workers.errors import BadInput
from tests.component.engine.conftest import CLI, SESSION, EngineHarness
from tests.support.programs import program, say

OTHER = SessionKey("agent:main:other")
CHAT = Route(channel="telegram", to="42", account_id="bot")
ANSWERS_TWO = json.dumps(program(say("two")))


def deliver(engine: EngineHarness, text: str, number: str) -> str:
    message_id = message_id_for("telegram", "bot", "42", number)
    answered = engine.intake.accept(text, session=SESSION, route=CHAT, authority=Authority.OWNER, message_id=message_id)
    assert isinstance(answered, Answered), answered
    return answered.text


def test_a_stop_that_comes_again_does_not_stop_the_next_turn(engine: EngineHarness) -> None:
    first = engine.say("one")
    answer = deliver(engine, "/stop", "7")
    assert answer == f"Stopped {first.run} and cancelled 1 waiting message(s)."
    following = engine.say(ANSWERS_TWO)

    assert deliver(engine, "/stop", "7") == answer

    engine.work()
    assert engine.run_of(following).state is RunState.OK


def test_a_stop_that_found_nothing_finds_nothing_when_it_comes_again(engine: EngineHarness) -> None:
    assert deliver(engine, "/stop", "7") == "Nothing is running."
    following = engine.say(ANSWERS_TWO)

    assert deliver(engine, "/stop", "7") == "Nothing is running."

    engine.work()
    assert engine.run_of(following).state is RunState.OK


def test_another_stop_is_another_order(engine: EngineHarness) -> None:
    deliver(engine, "/stop", "7")
    following = engine.say("two")
    assert deliver(engine, "/stop", "8").startswith(f"Stopped {following.run}")


def test_a_stop_whose_answer_was_lost_still_stops_once(engine: EngineHarness) -> None:
    """The process that carried it out died before it could say so."""
    engine.say("one")
    delivery = CHAT.delivery(message_id_for("telegram", "bot", "42", "7"), SESSION)
    first = engine.control.stop_session(SESSION, delivery=delivery)
    following = engine.say(ANSWERS_TWO)

    assert deliver(engine, "/stop", "7") == f"Stopped {first.run} and cancelled 1 waiting message(s)."

    engine.work()
    assert engine.run_of(following).state is RunState.OK


def test_a_stop_is_for_what_was_there_when_it_was_given(engine: EngineHarness) -> None:
    """Between the look at the session and the stop its turn ends, and somebody asks something new."""
    engine.say("one")
    old = engine.take()

    def meanwhile(_: str) -> str:
        if engine.ctl("run") == old.lease.run:
            engine.control.reset(SESSION)
            engine.say("asked later")
            engine.take(nonce="later")
        return ""

    stopped = engine.stores.inbox.stop(
        SESSION, Lane.MAIN, run=None, reason="killed", cap=0, with_waiting=True, partial=meanwhile
    )

    assert stopped.run is None
    assert engine.ctl("abort") != engine.ctl("run")


@pytest.mark.parametrize(
    ("first", "then", "column"),
    [
        ("/queue steer", "/queue collect", "queueMode"),
        ("/model offline/demo", "/model offline/script", "modelOverride"),
        ("/think high", "/think low", "thinkingLevel"),
        ("/reasoning on", "/reasoning stream", "reasoningLevel"),
        ("/verbose full", "/verbose off", "verboseLevel"),
        ("/usage full", "/usage tokens", "responseUsage"),
        ("/context limit 50k", "/context limit 20k", "contextTokensOverride"),
    ],
)
def test_a_setting_that_comes_again_does_not_undo_a_later_one(
    engine: EngineHarness, first: str, then: str, column: str
) -> None:
    engine.say("hello")
    answer = deliver(engine, first, "7")
    deliver(engine, then, "8")
    chosen = engine.stores.reader.row(SESSION)[column]

    assert deliver(engine, first, "7") == answer
    assert engine.stores.reader.row(SESSION)[column] == chosen


def test_a_command_in_order_that_comes_again_is_carried_out_once(engine: EngineHarness) -> None:
    number = message_id_for("telegram", "bot", "42", "7")
    engine.say("/new", route=CHAT, message_id=number)
    engine.work()
    engine.say(ANSWERS_TWO, route=CHAT)
    engine.work()

    assert engine.say("/new", route=CHAT, message_id=number).duplicate is not None
    assert engine.work() == 0
    assert len(engine.log()) == 2


def test_a_setting_that_was_refused_is_refused_when_it_comes_again(engine: EngineHarness) -> None:
    with pytest.raises(BadInput, match="does not exist yet"):
        deliver(engine, "/think high", "7")
    engine.say("hello")

    with pytest.raises(BadInput, match="does not exist yet"):
        deliver(engine, "/think high", "7")
    assert "thinkingLevel" not in engine.stores.reader.row(SESSION)


def in_thread(engine: EngineHarness, session: SessionKey, text: str, number: str) -> Queued:
    route = CHAT.model_copy(update={"thread_id": "t1"})
    return engine.say(text, session, route=route, message_id=message_id_for("telegram", "bot", "42", number))


def test_a_message_of_a_thread_that_was_unbound_meanwhile_is_answered_once(engine: EngineHarness) -> None:
    first = in_thread(engine, OTHER, ANSWERS_TWO, "7")
    engine.work()

    again = in_thread(engine, SESSION, ANSWERS_TWO, "7")
    engine.work()

    assert again.duplicate is not None
    assert (again.duplicate.state, again.session_key) == (MessageState.ANSWERED, OTHER)
    assert engine.run_of(again).id == engine.run_of(first).id
    assert engine.log() == []


def test_so_is_one_whose_session_was_deleted_meanwhile(engine: EngineHarness) -> None:
    in_thread(engine, OTHER, ANSWERS_TWO, "7")
    engine.control.delete(OTHER)

    again = in_thread(engine, SESSION, ANSWERS_TWO, "7")

    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.CANCELLED


def test_so_is_one_whose_receipt_was_forgotten(engine: EngineHarness) -> None:
    first = in_thread(engine, OTHER, ANSWERS_TWO, "7")
    engine.work()
    engine.stores.redis.delete(engine.stores.keys.receipts(OTHER))

    again = in_thread(engine, OTHER, ANSWERS_TWO, "7")

    assert again.duplicate is not None
    assert (again.duplicate.reason, again.message_id) == ("forgotten", first.message_id)
    assert engine.work() == 0


def test_a_message_that_was_refused_in_one_session_is_not_taken_into_another(engine: EngineHarness) -> None:
    engine.say("busy", OTHER)
    route, number = CHAT, message_id_for("telegram", "bot", "42", "7")
    refused = engine.intake.accept(
        "no", session=OTHER, route=route, authority=Authority.OWNER, message_id=number, mode=QueueMode.REJECT
    )
    assert isinstance(refused, Rejected)

    again = engine.say("no", SESSION, route=route, message_id=number)

    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.REJECTED


@pytest.mark.parametrize("other", [{"to": "43"}, {"channel": "discord"}, {"account_id": "two"}, {"thread_id": "t"}])
def test_the_same_number_in_another_chat_is_another_message(engine: EngineHarness, other: dict[str, str]) -> None:
    engine.say("one", OTHER, route=CHAT, message_id=MessageId("7"))
    assert engine.say("two", route=CHAT.model_copy(update=other), message_id=MessageId("7")).duplicate is None


def test_who_names_the_session_may_number_the_messages_to_each(engine: EngineHarness) -> None:
    number = MessageId("7")
    engine.say("one", OTHER, route=CLI, message_id=number)
    assert engine.say("two", SESSION, route=CLI, message_id=number).duplicate is None
    assert engine.say("two", SESSION, route=CLI, message_id=number).duplicate is not None


def test_a_message_without_a_number_of_its_channel_leaves_nothing_to_compare(engine: EngineHarness) -> None:
    engine.say("one")
    assert list(engine.stores.redis.scan_iter(engine.stores.keys.dedupe("*"))) == []


def test_what_a_delivery_led_to_is_kept_for_a_day(engine: EngineHarness) -> None:
    deliver(engine, "/stop", "7")
    delivery = CHAT.delivery(message_id_for("telegram", "bot", "42", "7"), SESSION)
    assert 86_300 < engine.stores.redis.ttl(engine.stores.keys.dedupe(delivery)) <= 86_400
