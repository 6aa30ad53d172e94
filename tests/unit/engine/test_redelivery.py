"""A channel delivers a message again: it is answered once, and a command takes effect once."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.engine.accept import Answered, Queued, Rejected, message_id_for
from openclaw_workers.errors import BadInput
from openclaw_workers.models.ids import MessageId, SessionKey
from openclaw_workers.models.messages import Authority, MessageState, QueueMode, Route
from openclaw_workers.models.runs import Lane, RunState
from tests.support.programs import program, say
from tests.unit.engine.conftest import CLI, SESSION, House

OTHER = SessionKey("agent:main:other")
CHAT = Route(channel="telegram", to="42", account_id="bot")
ANSWERS_TWO = json.dumps(program(say("two")))


def deliver(house: House, text: str, number: str) -> str:
    message_id = message_id_for("telegram", "bot", "42", number)
    answered = house.intake.accept(text, session=SESSION, route=CHAT, authority=Authority.OWNER, message_id=message_id)
    assert isinstance(answered, Answered), answered
    return answered.text


def test_a_stop_that_comes_again_does_not_stop_the_next_turn(house: House) -> None:
    first = house.say("one")
    answer = deliver(house, "/stop", "7")
    assert answer == f"Stopped {first.run} and cancelled 1 waiting message(s)."
    following = house.say(ANSWERS_TWO)

    assert deliver(house, "/stop", "7") == answer

    house.work()
    assert house.run_of(following).state is RunState.OK


def test_a_stop_that_found_nothing_finds_nothing_when_it_comes_again(house: House) -> None:
    assert deliver(house, "/stop", "7") == "Nothing is running."
    following = house.say(ANSWERS_TWO)

    assert deliver(house, "/stop", "7") == "Nothing is running."

    house.work()
    assert house.run_of(following).state is RunState.OK


def test_another_stop_is_another_order(house: House) -> None:
    deliver(house, "/stop", "7")
    following = house.say("two")
    assert deliver(house, "/stop", "8").startswith(f"Stopped {following.run}")


def test_a_stop_whose_answer_was_lost_still_stops_once(house: House) -> None:
    """The process that carried it out died before it could say so."""
    house.say("one")
    delivery = CHAT.delivery(message_id_for("telegram", "bot", "42", "7"), SESSION)
    first = house.control.stop_session(SESSION, delivery=delivery)
    following = house.say(ANSWERS_TWO)

    assert deliver(house, "/stop", "7") == f"Stopped {first.run} and cancelled 1 waiting message(s)."

    house.work()
    assert house.run_of(following).state is RunState.OK


def test_a_stop_is_for_what_was_there_when_it_was_given(house: House) -> None:
    """Between the look at the session and the stop its turn ends, and somebody asks something new."""
    house.say("one")
    old = house.take()

    def meanwhile(_: str) -> str:
        if house.ctl("run") == old.lease.run:
            house.control.reset(SESSION)
            house.say("asked later")
            house.take(nonce="later")
        return ""

    stopped = house.stores.inbox.stop(
        SESSION, Lane.MAIN, run=None, reason="killed", cap=0, with_waiting=True, partial=meanwhile
    )

    assert stopped.run is None
    assert house.ctl("abort") != house.ctl("run")


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
def test_a_setting_that_comes_again_does_not_undo_a_later_one(house: House, first: str, then: str, column: str) -> None:
    house.say("hello")
    answer = deliver(house, first, "7")
    deliver(house, then, "8")
    chosen = house.stores.reader.row(SESSION)[column]

    assert deliver(house, first, "7") == answer
    assert house.stores.reader.row(SESSION)[column] == chosen


def test_a_command_in_order_that_comes_again_is_carried_out_once(house: House) -> None:
    number = message_id_for("telegram", "bot", "42", "7")
    house.say("/new", route=CHAT, message_id=number)
    house.work()
    house.say(ANSWERS_TWO, route=CHAT)
    house.work()

    assert house.say("/new", route=CHAT, message_id=number).duplicate is not None
    assert house.work() == 0
    assert len(house.log()) == 2


def test_a_setting_that_was_refused_is_refused_when_it_comes_again(house: House) -> None:
    with pytest.raises(BadInput, match="has not begun yet"):
        deliver(house, "/think high", "7")
    house.say("hello")

    with pytest.raises(BadInput, match="has not begun yet"):
        deliver(house, "/think high", "7")
    assert "thinkingLevel" not in house.stores.reader.row(SESSION)


def in_thread(house: House, session: SessionKey, text: str, number: str) -> Queued:
    route = CHAT.model_copy(update={"thread_id": "t1"})
    return house.say(text, session, route=route, message_id=message_id_for("telegram", "bot", "42", number))


def test_a_message_of_a_thread_that_was_unbound_meanwhile_is_answered_once(house: House) -> None:
    first = in_thread(house, OTHER, ANSWERS_TWO, "7")
    house.work()

    again = in_thread(house, SESSION, ANSWERS_TWO, "7")
    house.work()

    assert again.duplicate is not None
    assert (again.duplicate.state, again.session_key) == (MessageState.ANSWERED, OTHER)
    assert house.run_of(again).id == house.run_of(first).id
    assert house.log() == []


def test_so_is_one_whose_session_was_deleted_meanwhile(house: House) -> None:
    in_thread(house, OTHER, ANSWERS_TWO, "7")
    house.control.delete(OTHER)

    again = in_thread(house, SESSION, ANSWERS_TWO, "7")

    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.CANCELLED


def test_so_is_one_whose_receipt_was_forgotten(house: House) -> None:
    first = in_thread(house, OTHER, ANSWERS_TWO, "7")
    house.work()
    house.stores.redis.delete(house.stores.keys.receipts(OTHER))

    again = in_thread(house, OTHER, ANSWERS_TWO, "7")

    assert again.duplicate is not None
    assert (again.duplicate.reason, again.message_id) == ("forgotten", first.message_id)
    assert house.work() == 0


def test_a_message_that_was_refused_in_one_session_is_not_taken_into_another(house: House) -> None:
    house.say("busy", OTHER)
    route, number = CHAT, message_id_for("telegram", "bot", "42", "7")
    refused = house.intake.accept(
        "no", session=OTHER, route=route, authority=Authority.OWNER, message_id=number, mode=QueueMode.REJECT
    )
    assert isinstance(refused, Rejected)

    again = house.say("no", SESSION, route=route, message_id=number)

    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.REJECTED


@pytest.mark.parametrize("other", [{"to": "43"}, {"channel": "discord"}, {"account_id": "two"}, {"thread_id": "t"}])
def test_the_same_number_in_another_chat_is_another_message(house: House, other: dict[str, str]) -> None:
    house.say("one", OTHER, route=CHAT, message_id=MessageId("7"))
    assert house.say("two", route=CHAT.model_copy(update=other), message_id=MessageId("7")).duplicate is None


def test_who_names_the_session_may_number_the_messages_to_each(house: House) -> None:
    number = MessageId("7")
    house.say("one", OTHER, route=CLI, message_id=number)
    assert house.say("two", SESSION, route=CLI, message_id=number).duplicate is None
    assert house.say("two", SESSION, route=CLI, message_id=number).duplicate is not None


def test_a_message_without_a_number_of_its_channel_leaves_nothing_to_compare(house: House) -> None:
    house.say("one")
    assert list(house.stores.redis.scan_iter(house.stores.keys.dedupe("*"))) == []


def test_what_a_delivery_led_to_is_kept_for_a_day(house: House) -> None:
    deliver(house, "/stop", "7")
    delivery = CHAT.delivery(message_id_for("telegram", "bot", "42", "7"), SESSION)
    assert 86_300 < house.stores.redis.ttl(house.stores.keys.dedupe(delivery)) <= 86_400
