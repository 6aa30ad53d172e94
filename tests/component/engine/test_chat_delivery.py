"""Turns that answer chats: replies, announces and notices enter the outbox as the send policy allows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingMessage
from openclaw_workers.domain.system_event import PROVENANCE
from openclaw_workers.domain.transcript import NoticeEntry, UserEntry
from openclaw_workers.engine.client_graph import system_events_of
from openclaw_workers.engine.intake.system_events import SystemEvents
from openclaw_workers.errors import BadInput
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.other_worker import die, take_elsewhere
from tests.component.engine.session_steps import OTHER, run_on, send, text
from tests.component.engine.wire_harness import wire_engine
from tests.support.programs import as_text, program, say, spawn
from tests.support.wire import Failure, WireServer

CHAT = Route(channel="telegram", account_id="bot", to="42")
DENY = {"session": {"sendPolicy": {"rules": [{"action": "deny", "match": {"channel": "telegram"}}]}}}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def outgoing(engine: EngineHarness) -> list[OutgoingMessage]:
    entries = sorted(engine.stores.outbox.entries(), key=lambda entry: (entry.created_at, entry.id))
    return [entry.message for entry in entries]


def sent(engine: EngineHarness) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in outgoing(engine)]


def answer(engine: EngineHarness, *steps: dict[str, Any], **how: Any) -> Any:
    queued = engine.say(json.dumps({"steps": steps}), route=CHAT, **how)
    engine.work()
    return engine.run_of(queued)


def test_a_reply_goes_to_the_chat_and_not_to_the_terminal(engine: EngineHarness) -> None:
    engine.say(text(say("hello")))
    engine.work()
    assert outgoing(engine) == []
    run = answer(engine, {"text": "hello"})
    (message,) = outgoing(engine)
    assert (message.kind, message.text, message.route, message.run_id) == ("reply", "hello", CHAT, run.id)


def test_a_silent_reply_is_not_sent(engine: EngineHarness) -> None:
    answer(engine, {"text": "NO_REPLY"})
    assert outgoing(engine) == []


def test_a_channel_that_is_switched_off_gets_nothing(make_engine: MakeEngine) -> None:
    engine = make_engine({"channels": {"telegram": {"enabled": False}}})
    answer(engine, {"text": "hello"})
    assert outgoing(engine) == []


def test_a_denied_reply_is_recorded_as_suppressed(make_engine: MakeEngine) -> None:
    engine = make_engine(DENY)
    run = answer(engine, {"text": "hello"})
    assert outgoing(engine) == []
    assert (run.state, run.text, run.suppressed) == ("ok", "hello", True)
    assert [entry.text for entry in engine.log() if isinstance(entry, NoticeEntry)] == [
        "The reply was not sent to the chat: the send policy denies it. `/send on` allows it for this session."
    ]


@pytest.mark.parametrize("own", ["allow", "deny"])
def test_the_session_s_own_choice_wins_over_the_rules(make_engine: MakeEngine, own: str) -> None:
    engine = make_engine(DENY if own == "allow" else None)
    engine.say(text(say("first")))
    engine.work()
    engine.stores.sessions.patch(SESSION, {"sendPolicy": own})
    run = answer(engine, {"text": "hello"})
    assert (len(outgoing(engine)), run.suppressed) == ((1, False) if own == "allow" else (0, True))


def test_a_command_is_answered_although_replies_are_denied(make_engine: MakeEngine) -> None:
    engine = make_engine(DENY)
    engine.say("/new", route=CHAT)
    engine.work()
    assert sent(engine) == [("reply", "New session.")]


@pytest.mark.parametrize("config", [None, DENY])
def test_an_announce_goes_to_the_chat_that_asked(make_engine: MakeEngine, config: dict[str, Any] | None) -> None:
    engine = make_engine(config)
    engine.say(text(spawn(program(say("result"))), say("spawned"), say("heard")), route=CHAT)
    run_on(engine)
    expected = [("reply", "spawned"), ("announce", "heard")]
    assert sent(engine) == (expected if config is None else [])


@pytest.mark.parametrize("config", [{}, DENY["session"]])
def test_the_last_step_of_an_exchange_is_for_the_chat(make_engine: MakeEngine, config: dict[str, Any]) -> None:
    engine = make_engine({"session": {**config, "agentToAgent": {"maxPingPongTurns": 0}}})
    engine.say(text(say("hi"), say("an answer"), say("word for the chat")), OTHER, route=CHAT)
    engine.work()
    engine.say(text(send(OTHER, "what do you think?"), say("thanks")))
    run_on(engine)
    reported = [message for message in outgoing(engine) if message.kind == "announce"]
    assert [message.text for message in reported] == ([] if config else ["word for the chat"])
    last = [run for run in engine.stores.reader.runs() if run.text == "word for the chat"]
    assert [run.suppressed for run in last] == [bool(config)]


def test_a_child_with_a_thread_answers_there(engine: EngineHarness) -> None:
    engine.say(text(say("hello")), route=CHAT)
    engine.work()
    child = as_text(program(say("in my thread")))
    engine.say(text(spawn(child, mode="session", thread=True), say("spawned"), say("heard")), route=CHAT)
    run_on(engine)
    (there,) = [message for message in outgoing(engine) if message.text == "in my thread"]
    assert (there.route.to, there.route.thread_id[:4]) == ("42", "sub-")


def test_a_failed_run_is_reported_with_its_reason_and_the_next_step(engine: EngineHarness) -> None:
    answer(engine, {"fail": "auth"})
    ((kind, reported),) = sent(engine)
    assert kind == "notice"
    assert "the model call failed (auth)" in reported
    assert "Next step: the owner has to check the API key" in reported


def test_a_run_that_lost_its_workers_is_reported(make_engine: MakeEngine) -> None:
    engine = make_engine({"engine": {"maxAttempts": 1}})
    engine.say(text(say("hello")), route=CHAT)
    take_elsewhere(engine)
    die(engine)
    ((kind, reported),) = sent(engine)
    assert (kind, "the turn was given up" in reported) == ("notice", True)


def test_a_used_up_budget_is_reported(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, budgets={"day": {"calls": 1}})
    for words in ("one", "two"):
        wired.engine.say(words, route=CHAT)
        wired.engine.work()
    assert [kind for kind, _ in sent(wired.engine)] == ["reply", "notice"]
    assert "1 of 1 model calls" in sent(wired.engine)[1][1]


def test_a_fallback_model_is_reported_once_per_change(make_engine: MakeEngine, server: WireServer) -> None:
    model = {"primary": "a/m", "fallbacks": ["b/m"]}
    wired = wire_engine(make_engine, server, model=model)
    for key in ("a1:m", "a2:m"):  # keys are used in turn
        wired.plan(key, Failure(400, "no good"))
    for words in ("one", "two", "three", "four"):
        wired.engine.say(words, route=CHAT)
        wired.engine.work()
    reported = sent(wired.engine)
    assert [kind for kind, _ in reported] == ["notice", "reply", "reply", "notice", "reply", "reply"]
    assert reported[0][1].startswith("⚠️ Primary model (a/m) failed: ")
    assert reported[0][1].endswith("✅ Switched to fallback: b/m")
    assert reported[3][1] == "✅ a/m answers again."


def test_a_reset_by_time_is_reported(make_engine: MakeEngine) -> None:
    engine = make_engine({"session": {"reset": {"mode": "idle", "idleMinutes": 1}}})
    answer(engine, {"text": "one"})
    engine.stores.redis.hset(engine.stores.keys.row(SESSION), "lastInteractionAt", "1")
    answer(engine, {"text": "two"})
    assert [kind for kind, _ in sent(engine)] == ["reply", "notice", "reply"]
    assert "A new session started, because the last one had expired" in sent(engine)[1][1]


def test_a_reset_and_a_stop_from_elsewhere_are_reported(engine: EngineHarness) -> None:
    engine.say(text(say("one")), route=CHAT)
    engine.control.stop_session(SESSION)
    assert [reported.split(":")[0] for _, reported in sent(engine)] == ["⏹️ Waiting messages were cancelled"]
    engine.control.reset(SESSION)
    assert "The session was reset" in sent(engine)[1][1]


def test_a_stop_from_the_chat_itself_is_answered_there_only(engine: EngineHarness) -> None:
    engine.say(text(say("one")), route=CHAT)
    engine.control.stop_session(SESSION, channel="telegram")
    assert outgoing(engine) == []


def test_dropped_and_rejected_messages_are_reported(make_engine: MakeEngine) -> None:
    engine = make_engine({"messages": {"queue": {"cap": 2, "debounceMs": 0}}})
    engine.say("one", route=CHAT)
    take_elsewhere(engine)
    for words in ("two", "three", "four", "five"):
        engine.say(words, route=CHAT)
    ((kind, reported),) = sent(engine)
    assert (kind, "2 messages wait" in reported) == ("notice", True)


def commands(engine: EngineHarness) -> int:
    stats = engine.stores.redis.info("commandstats")
    return sum(int(each["calls"]) for name, each in stats.items() if name != "cmdstat_info")


def commands_of_a_turn(engine: EngineHarness, route: Route) -> int:
    for _ in range(2):  # the first turn creates the session
        before = commands(engine)
        engine.say(text(say("hello")), route=route)
        engine.work()
    return commands(engine) - before


def test_a_turn_that_sends_to_no_chat_costs_no_command_more(make_engine: MakeEngine) -> None:
    without = commands_of_a_turn(make_engine({"channels": {"telegram": {"enabled": False}}}), CLI)
    assert commands_of_a_turn(make_engine(), CLI) == without
    assert commands_of_a_turn(make_engine(), CHAT) == without + 2


# --- system events ---


@pytest.fixture
def events(engine: EngineHarness) -> SystemEvents:
    return system_events_of(engine.stores, engine.waker)


def heard(engine: EngineHarness) -> list[str]:
    entries = [entry for entry in engine.log() if isinstance(entry, UserEntry) and entry.provenance == PROVENANCE]
    return [block.text for entry in entries for block in entry.content]


def test_an_event_that_wakes_is_answered_where_the_session_was_last_spoken_to(
    engine: EngineHarness, events: SystemEvents
) -> None:
    answer(engine, {"text": "hello"}, {"text": "I saw it"})
    assert events.add(SESSION, source="webhook  github\n", text="a build failed", key="build-7", wake=True) == "added"
    engine.work()
    (reported,) = heard(engine)
    heading, *quoted = reported.splitlines()
    assert heading.startswith("[System event from webhook github, ")
    assert heading.endswith("No person wrote this.]")
    assert quoted[0] == '<<<UNTRUSTED_TEXT from="webhook github">>>'
    assert sent(engine)[-1] == ("announce", "I saw it")


def test_events_wait_for_the_next_turn_and_are_reported_once(engine: EngineHarness, events: SystemEvents) -> None:
    assert events.add(SESSION, source="exec", text="done", key="1") == "missing"
    answer(engine, {"text": "hello"})
    reported = [events.add(SESSION, source="exec", text="done", key="1", is_trusted=True) for _ in range(2)]
    assert reported == ["added", "known"]
    assert heard(engine) == []
    answer(engine, {"text": "hello again"})
    assert [each.splitlines()[1] for each in heard(engine)] == ["done"]


def test_events_that_wake_a_busy_session_share_one_turn(engine: EngineHarness, events: SystemEvents) -> None:
    engine.say("one", route=CLI)
    take_elsewhere(engine)
    reported = [events.add(SESSION, source="exec", text=each, key=each, wake=True) for each in ("a", "b", "a")]
    assert reported == ["added", "added", "added"]
    assert len(engine.stores.inbox.waiting(SESSION)) == 1
    assert len(engine.stores.system_events.waiting(SESSION)) == 2


def test_an_event_creates_a_session_but_no_sub_agent(engine: EngineHarness, events: SystemEvents) -> None:
    assert events.add(SESSION, source="hook", text="hello", key="1", wake=True) == "added"
    gone = SessionKey("agent:main:subagent:gone")
    assert events.add(gone, source="hook", text="hello", key="1", wake=True) == "missing"
    assert engine.work() == 1


def test_an_event_needs_its_parts_and_is_cut_to_size(engine: EngineHarness, events: SystemEvents) -> None:
    with pytest.raises(BadInput):
        events.add(SESSION, source="hook", text=" ", key="1")
    events.add(SESSION, source="s" * 500, text="x" * 100_000, key="1", wake=True)
    (event,) = engine.stores.system_events.waiting(SESSION)
    assert (len(event.source), len(event.text)) == (80, 16_000)
