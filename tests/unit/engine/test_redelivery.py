"""A channel delivers a message again: it is answered once, and a command takes effect once."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.engine.accept import Answered, message_id_for
from openclaw_workers.errors import BadInput
from openclaw_workers.models.messages import Authority, Route
from openclaw_workers.models.runs import Lane, RunState
from tests.support.programs import program, say
from tests.unit.engine.conftest import SESSION, House

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
    delivery = CHAT.delivery(message_id_for("telegram", "bot", "42", "7"))
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


def test_a_setting_that_was_refused_is_refused_when_it_comes_again(house: House) -> None:
    with pytest.raises(BadInput, match="has not begun yet"):
        deliver(house, "/think high", "7")
    house.say("hello")

    with pytest.raises(BadInput, match="has not begun yet"):
        deliver(house, "/think high", "7")
    assert "thinkingLevel" not in house.stores.reader.row(SESSION)


def test_what_a_delivery_led_to_is_kept_for_a_day(house: House) -> None:
    deliver(house, "/stop", "7")
    delivery = CHAT.delivery(message_id_for("telegram", "bot", "42", "7"))
    assert 86_300 < house.stores.redis.ttl(house.stores.keys.dedupe(delivery)) <= 86_400
