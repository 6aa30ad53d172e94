"""Slash commands: what counts as one, who may use it, and what each does."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.accepted import Answered, Queued
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.runs import Lane
from openclaw_workers.engine.intake.commands.command import When
from openclaw_workers.engine.intake.commands.parse import parse_command
from openclaw_workers.engine.intake.commands.queue import parse_queue
from openclaw_workers.engine.intake.commands.registry import COMMANDS
from openclaw_workers.errors import BadInput
from openclaw_workers.store.turn_records import NotTaken
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine


def answer(engine: EngineHarness, text: str, authority: Authority = Authority.OWNER) -> str:
    answered = engine.intake.accept(text, session=SESSION, route=CLI, authority=authority)
    assert isinstance(answered, Answered)
    return answered.text


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/stop", "stop", ""),
        ("  /STOP  ", "stop", ""),
        ("/stop@my_bot", "stop", ""),
        ("/stop@My_Bot", "stop", ""),
        ("/queue collect debounce:2s", "queue", "collect debounce:2s"),
        ("/queue: collect", "queue", "collect"),
        ("/think:high", "think", "high"),
        ("/think : high", "think", "high"),
        ("/think:", "think", ""),
        ("/thinking high", "think", "high"),
        ("/t high", "think", "high"),
        ("/id", "whoami", ""),
        ("/commands", "help", ""),
        ("/queue@my_bot   steer ", "queue", "steer"),
        ("/queue@my_bot: steer ", "queue", "steer"),
        ("/new offline/demo", "new", "offline/demo"),
        ("/new@my_bot", "new", ""),
        ("stop", "stop", ""),
        ("Stop!", "stop", ""),
        ("  PLEASE  stop. ", "stop", ""),
        ("\u0441\u0442\u043e\u043f", "stop", ""),
        ("\u505c\u6b62", "stop", ""),
    ],
)
def test_a_command_is_known_by_its_first_word(text: str, name: str, argument: str) -> None:
    parsed = parse_command(text, bot_name="my_bot")
    assert parsed is not None
    assert (parsed.command.name, parsed.argument) == (name, argument)


@pytest.mark.parametrize(
    "text",
    [
        *("stop it now", "please /stop", "/usr/bin/env", "/stopping", "/", "/ stop", "//stop", "/unknown", ""),
        *("/stop@other_bot", "/queue@other_bot steer", "/stop@", "do not stop", "/think\nhigh"),
    ],
)
def test_anything_else_is_an_ordinary_message(text: str) -> None:
    assert parse_command(text, bot_name="my_bot") is None


def test_some_commands_act_at_once_and_some_in_order() -> None:
    assert {name: command.when for name, command in COMMANDS.items()} == {
        "help": When.NOW,
        "status": When.NOW,
        "whoami": When.NOW,
        "stop": When.NOW,
        "queue": When.NOW,
        "model": When.NOW,
        "think": When.NOW,
        "reasoning": When.NOW,
        "verbose": When.NOW,
        "usage": When.NOW,
        "context": When.NOW,
        "name": When.NOW,
        "send": When.NOW,
        "elevated": When.NOW,
        "activation": When.NOW,
        "approve": When.NOW,
        "deny": When.NOW,
        "answer": When.NOW,
        "subagents": When.NOW,
        "new": When.IN_ORDER,
        "reset": When.IN_ORDER,
        "compact": When.IN_ORDER,
    }


@pytest.mark.parametrize(
    ("argument", "fields"),
    [
        (
            "collect debounce:2s cap:25 drop:old",
            {"queueMode": "collect", "queueDebounceMs": "2000", "queueCap": "25", "queueDrop": "old"},
        ),
        ("steer-backlog", {"queueMode": "steer-backlog"}),
        ("FOLLOWUP", {"queueMode": "followup"}),
        ("queue", {"queueMode": "steer"}),
        ("abort", {"queueMode": "interrupt"}),
        ("debounce:500", {"queueDebounceMs": "500"}),
        ("debounce:250ms", {"queueDebounceMs": "250"}),
        ("debounce:1m", {"queueDebounceMs": "60000"}),
        ("debounce:0", {"queueDebounceMs": "0"}),
        ("drop:summary", {"queueDrop": "summarize"}),
        ("drop:newest cap:1", {"queueDrop": "new", "queueCap": "1"}),
    ],
)
def test_queue_options_are_understood(argument: str, fields: dict[str, str]) -> None:
    assert parse_queue(argument) == fields


@pytest.mark.parametrize(
    ("argument", "reported"),
    [
        ("colect", "'colect' is not a queue mode; expected one of collect, followup, .*did you mean 'collect'"),
        ("collect loudly", "'loudly' is not a queue mode"),
        ("cap:0", "cap:0 is not understood; expected a number from 1 to 1000"),
        ("cap:2s", "expected a number from 1 to 1000"),
        ("cap:many", "expected a number from 1 to 1000"),
        ("debounce:soon", "debounce:soon is not understood; expected a time such as 500ms, 2s or 1m"),
        ("debounce:-1", "expected a time"),
        ("drop:all", "drop:all is not a drop policy; expected one of old, new, summarize"),
        ("cap:", "'cap:' is not a queue mode"),
    ],
)
def test_a_queue_option_that_is_not_understood_is_named(argument: str, reported: str) -> None:
    with pytest.raises(BadInput, match=reported):
        parse_queue(argument)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("/help", Authority.ANYONE),
        ("/status", Authority.ANYONE),
        ("/stop", Authority.AUTHORIZED),
        ("/new", Authority.AUTHORIZED),
        ("/reset", Authority.AUTHORIZED),
        ("/queue", Authority.OWNER),
        ("/model", Authority.AUTHORIZED),
        ("/think", Authority.AUTHORIZED),
        ("/reasoning", Authority.AUTHORIZED),
        ("/verbose", Authority.AUTHORIZED),
        ("/usage", Authority.AUTHORIZED),
        ("/context", Authority.AUTHORIZED),
        ("/compact", Authority.AUTHORIZED),
    ],
)
@pytest.mark.parametrize("authority", list(Authority))
def test_each_command_needs_its_authority(
    engine: EngineHarness, text: str, needed: Authority, authority: Authority
) -> None:
    if authority.covers(needed):
        engine.intake.accept(text, session=SESSION, route=CLI, authority=authority)
        return
    with pytest.raises(BadInput, match=f"{text} needs the authority of {needed}"):
        engine.intake.accept(text, session=SESSION, route=CLI, authority=authority)
    assert engine.stores.inbox.waiting(SESSION) == []


def test_help_lists_every_command(engine: EngineHarness) -> None:
    reported = answer(engine, "/help").splitlines()
    assert len(reported) == len(COMMANDS)
    for command in COMMANDS.values():
        assert any(line.startswith(command.usage) and command.summary in line for line in reported)


def test_help_lists_no_word_that_is_not_a_command_here(make_engine: MakeEngine) -> None:
    reported = answer(make_engine({"session": {"resetTriggers": ["/reset"]}}), "/help")
    assert "/reset" in reported
    assert "/new" not in reported


def test_status_tells_of_a_session_before_during_and_after_a_turn(engine: EngineHarness) -> None:
    assert "state   idle" in answer(engine, "/status")
    assert engine.stores.reader.session(SESSION) is None, "asking creates nothing"

    engine.say('{"steps": [{"text": "hi"}]}')
    taken = engine.turns.take(
        SESSION,
        engine.waker.turns[0][1],
        Lane.MAIN,
        nonce="n",
        time_ms=60_000,
        freshness=engine.built.resets.times(SESSION),
        may_suspect=True,
    )
    assert not isinstance(taken, NotTaken)
    engine.say("next")
    reported = answer(engine, "/status")
    assert f"state   running ({taken.lease.run})" in reported
    assert "waiting 1 message(s)" in reported
    assert "worker  here/1/a, attempt 1" in reported
    assert "queue   collect" in reported


def test_stop_says_what_it_stopped(engine: EngineHarness) -> None:
    assert answer(engine, "/stop") == "Nothing is running."
    first = engine.say("one")
    engine.say("two")
    assert answer(engine, "/stop") == f"Stopped {first.run} and cancelled 2 waiting message(s)."


def test_the_queue_mode_of_the_channel_is_shown_where_the_session_has_none_of_its_own(
    make_engine: MakeEngine,
) -> None:
    queue = {"byChannel": {"cli": "steer"}, "debounceMsByChannel": {"cli": 50}, "mode": "followup"}
    engine = make_engine({"messages": {"queue": queue}})
    engine.say("hi")

    assert answer(engine, "/queue").startswith("Queue mode: steer (default); debounce 50 ms (default), cap 20")
    assert "queue   steer (default)" in answer(engine, "/status")


def test_queue_settings_are_kept_shown_and_cleared(engine: EngineHarness) -> None:
    with pytest.raises(BadInput, match="does not exist yet"):
        answer(engine, "/queue steer")
    assert "collect (default)" in answer(engine, "/queue")
    engine.say("hi")

    assert answer(engine, "/queue steer cap:3") == "Queue set: mode steer, cap 3."
    assert answer(engine, "/queue").startswith(
        "Queue mode: steer; debounce 0 ms (default), cap 3, drop summarize (default). Usage: /queue"
    )
    assert answer(engine, "/queue debounce:2s") == "Queue set: debounce 2000 ms."
    entry = engine.stores.reader.session(SESSION)
    assert entry is not None
    assert (entry.queue_mode, entry.queue_cap) == ("steer", 3)
    answer(engine, "/queue default")
    entry = engine.stores.reader.session(SESSION)
    assert entry is not None
    assert (entry.queue_mode, entry.queue_cap) == (None, None)


def test_commands_in_order_go_through_the_inbox(engine: EngineHarness) -> None:
    queued = engine.intake.accept("/new", session=SESSION, route=CLI, authority=Authority.OWNER)
    assert isinstance(queued, Queued)
    (entry,) = engine.stores.inbox.waiting(SESSION)
    assert (entry.kind, entry.text) == ("command", "/new")


@pytest.mark.parametrize(
    ("text", "reported", "row"),
    [
        ("/new", "New session.", {}),
        ("/reset", "Session reset.", {}),
        (
            "/new offline/demo",
            "New session, with offline/demo.",
            {"providerOverride": "offline", "modelOverride": "demo"},
        ),
        ("/new hello you", "is not a `provider/model` name", {}),
    ],
)
def test_a_command_in_order_begins_a_new_session(
    engine: EngineHarness, text: str, reported: str, row: dict[str, str]
) -> None:
    engine.say('{"steps": [{"text": "before"}]}')
    engine.work()
    before = engine.stores.reader.session(SESSION)
    queued = engine.say(text)
    engine.work()

    after = engine.stores.reader.session(SESSION)
    assert before is not None
    assert after is not None
    assert after.session_id != before.session_id
    assert reported in (engine.run_of(queued).text or "")
    assert engine.receipt(queued).state == "answered"
    assert engine.log() == []
    stored = engine.stores.redis.hgetall(engine.stores.keys.row(SESSION))
    assert row.items() <= dict(stored).items()
