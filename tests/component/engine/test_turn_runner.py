"""Turns in one process: from wake-up to commit, with every way a turn can end."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.prompt.texts import TURN_ENDED_BEFORE_CALL, TURN_ENDED_DURING_CALL
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import InboundMessage, QueueMode
from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry
from openclaw_workers.errors import BadInput, LeaseLost, StoreUnavailable, TurnAborted, TurnHandedOver
from openclaw_workers.store.llm.ledger import Ledger
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.other_worker import call_recorded, die, take_elsewhere
from tests.support.waiting import eventually


def program(*steps: dict[str, Any]) -> str:
    return json.dumps({"steps": steps})


def execute(command: str) -> dict[str, Any]:
    return {"calls": [{"tool": "exec", "input": {"command": command}}]}


def workspace(engine: EngineHarness) -> Path:
    return engine.loaded.state_dir / "workspace"


def in_background(engine: EngineHarness) -> threading.Thread:
    """Carry the oldest wake-up in a thread of its own."""
    thread = threading.Thread(target=engine.runner.run, args=engine.waker.turns.pop(0), daemon=True)
    thread.start()
    return thread


def test_a_message_is_answered_and_everything_is_written(engine: EngineHarness) -> None:
    queued = engine.say(program({"text": "hello"}))

    assert engine.work() == 1

    run, row = engine.run_of(queued), engine.stores.reader.session(SESSION)
    assert (run.state, run.reason, run.text, run.model) == ("ok", "complete", "hello", "offline/script")
    assert [entry.role for entry in engine.log()] == ["user", "assistant"]
    assert row is not None
    assert (row.input_tokens, row.output_tokens, row.turns) == (run.usage.input, run.usage.output, 1)
    assert engine.ctl("state") == "idle"
    assert engine.events() == ["message.accepted", "run.started", "run.ended"]


def test_wakes_that_find_nothing_to_do_change_nothing(engine: EngineHarness) -> None:
    queued = engine.say(program({"text": "hello"}))
    wake = engine.waker.turns[0]
    engine.waker.turns = [wake] * 3
    assert engine.work() == 1
    assert not engine.runner.run(SESSION, RunId("run-unknown"))
    assert not engine.runner.run(SessionKey("agent:main:nobody"), RunId("run-unknown"))
    assert len(engine.log()) == 2
    assert engine.run_of(queued).attempt == 1


def test_waiting_messages_are_answered_one_run_after_another(make_engine: MakeEngine) -> None:
    engine = make_engine({"messages": {"queue": {"mode": "followup"}}})
    sent = [engine.say(program({"text": f"answer {n}"})) for n in range(3)]
    assert engine.work() == 3
    assert [engine.run_of(queued).text for queued in sent] == ["answer 0", "answer 1", "answer 2"]


@pytest.mark.parametrize(
    ("step", "reason", "reported"),
    [
        ({"fail": "auth"}, "auth", "the model call failed (auth)"),
        ({"calls": [{"tool": "read", "input": {"path": "x"}}]}, "unknown", "after 2 model calls"),
    ],
)
def test_a_turn_that_fails_says_why_and_leaves_a_valid_transcript(
    make_engine: MakeEngine, step: dict[str, Any], reason: str, reported: str
) -> None:
    engine = make_engine({"engine": {"maxSteps": 2}})
    queued = engine.say(program(step, step, step))

    engine.work()

    run = engine.run_of(queued)
    assert (run.state, run.reason, engine.receipt(queued).state) == ("error", reason, "failed")
    assert reported in (run.error or "")
    assert engine.log()[-1].role == "notice"
    assert run.usage.input > 0
    assert engine.say(program({"text": "next"}))
    engine.work()
    assert engine.log()[-1].role == "assistant"


def test_a_model_that_this_worker_does_not_know_fails_its_own_turn_only(engine: EngineHarness) -> None:
    # Accepted where the model was still configured.
    message = InboundMessage(id=MessageId("m"), session_key=SESSION, text="hi", route=CLI, model="nowhere/model")
    queued = engine.intake.post(message)
    assert isinstance(queued, Queued)
    engine.work()
    assert engine.run_of(queued).reason == "model_not_found"
    after = engine.say(program({"text": "well"}))
    engine.work()
    assert engine.run_of(after).text == "well"


def test_a_stop_ends_the_turn_keeps_what_was_said_and_closes_open_calls(engine: EngineHarness) -> None:
    calls = [{"tool": "exec", "input": {"command": command}} for command in ("touch begun; sleep 60", "touch never")]
    queued = engine.say(program({"text": "I begin.", "calls": calls}, {"text": "never"}))
    thread = in_background(engine)
    eventually((workspace(engine) / "begun").exists, within=20)
    (handle,) = engine.process.runs()

    engine.control.stop_session(SESSION)
    handle.cancel.set(TurnAborted("killed"))
    thread.join(5)

    run = engine.run_of(queued)
    assert (run.state, run.reason, engine.receipt(queued).state) == ("killed", "killed", "cancelled")
    results = [entry for entry in engine.log() if isinstance(entry, ToolResultEntry)]
    # The first may have taken effect, and here has: to say that it was not run would be untrue (I5).
    assert [(result.content[0].text, result.is_error) for result in results] == [
        (TURN_ENDED_DURING_CALL, True),
        (TURN_ENDED_BEFORE_CALL, True),
    ]
    assert not (workspace(engine) / "never").exists()
    assert [entry.role for entry in engine.log()] == ["user", "assistant", "toolResult", "toolResult", "notice"]


def test_what_was_stopped_before_its_first_word_is_not_done_by_the_next_turn(engine: EngineHarness) -> None:
    engine.say("run: touch done", model="offline/demo")
    take_elsewhere(engine)
    engine.control.stop_session(SESSION)
    engine.waker.turns.clear()
    die(engine)
    engine.work()

    after = engine.say("hello", model="offline/demo")
    engine.work()

    assert (engine.run_of(after).text or "").startswith("Hello!")
    assert not (workspace(engine) / "done").exists()


def test_text_that_was_streamed_before_a_stop_is_kept_as_aborted(engine: EngineHarness) -> None:
    queued = engine.say(program({"text": "half whole", "chunks": 2, "chunkDelayMs": 60_000}))
    thread = in_background(engine)
    (handle,) = eventually(engine.process.runs, within=20)
    handle.cancel.set(TurnAborted("interrupt"))
    thread.join(5)

    run = engine.run_of(queued)
    assert (run.state, run.reason) == ("killed", "interrupt")
    said = [(entry.text, entry.stop_reason) for entry in engine.log() if isinstance(entry, AssistantEntry)]
    # The stop may come before the first word.
    assert said == ([(run.text, "aborted")] if run.text else [])


def test_a_worker_that_leaves_hands_the_turn_over_at_the_next_step(
    engine: EngineHarness, make_engine: MakeEngine
) -> None:
    queued = engine.say(program(execute("touch begun; until [ -e go ]; do sleep 0.05; done"), {"text": "done"}))
    thread = in_background(engine)
    eventually((workspace(engine) / "begun").exists, within=20)
    engine.process.shutdown.begin()
    (workspace(engine) / "go").touch()
    thread.join(10)

    assert (engine.ctl("state"), engine.ctl("owner")) == ("queued", "")
    assert [entry.role for entry in engine.log()] == ["user", "assistant", "toolResult"], "the journal is complete"
    assert engine.waker.turns == [(SESSION, queued.run)]

    heir = make_engine()
    heir.waker.turns = engine.waker.turns
    assert heir.work() == 1
    run = heir.run_of(queued)
    assert (run.state, run.text, run.attempt) == ("ok", "done", 1)
    assert [attempt.how for attempt in run.attempts] == ["taken", "handover"]


def test_a_leaving_worker_passes_wakes_on(engine: EngineHarness) -> None:
    queued = engine.say("hi")
    engine.process.shutdown.begin()
    assert not engine.runner.run(SESSION, RunId(str(queued.run)))
    assert engine.waker.turns == [(SESSION, queued.run)] * 2
    assert engine.ctl("state") == "queued"


def test_a_command_needs_no_model(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": {"defaults": {"model": "offline/demo"}}})
    queued = engine.say("/reset")
    engine.work()
    run = engine.run_of(queued)
    assert (run.text, run.model, run.usage.total) == ("Session reset.", None, 0)


@pytest.mark.parametrize("doing", ["may be asking", "runs a tool"])
def test_whom_a_dead_owner_was_asking_is_looked_up_only_if_it_may_have_been(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    """Many sessions are taken over at once when a worker dies: none should read what it does not need.

    Nothing tells an owner that has just taken a turn from one whose call is under way: its call is guessed at.
    """
    was_asking = doing == "may be asking"
    asked_last, looked_up = engine.built.lost_calls.asked_last, list[Any]()

    def spy(*args: Any) -> Any:
        looked_up.append(args)
        return asked_last(*args)

    monkeypatch.setattr(engine.built.lost_calls, "asked_last", spy)
    queued = engine.say(program({"text": "first"}, {"text": "second"}))
    taken = take_elsewhere(engine)
    if doing == "runs a tool":
        call_recorded(engine, taken, "true")
    die(engine)

    engine.work()

    assert engine.run_of(queued).state == "ok"
    assert bool(looked_up) is was_asking
    calls = list(Ledger(engine.stores.redis, engine.stores.keys).calls())
    assert ("lost" in [call.outcome for call in calls]) is was_asking
    assert engine.run_of(queued).usage.total == sum(call.usage.total for call in calls)


def test_a_turn_goes_on_where_its_dead_owner_left_it(engine: EngineHarness) -> None:
    queued = engine.say(program({}, {"text": "I will check"}))
    call_recorded(engine, take_elsewhere(engine), "echo run >> ran")
    engine.waker.turns.clear()
    die(engine)

    engine.work()

    run = engine.run_of(queued)
    assert (run.state, run.text, run.attempt) == ("ok", "I will check", 1)
    assert [attempt.how for attempt in run.attempts] == ["taken", "takeover"]
    assert not (workspace(engine) / "ran").exists(), "a command that may have run is not run again"


def test_a_call_begun_by_a_dead_owner_is_reported_as_interrupted_if_the_turn_is_stopped_before_it_is_repeated(
    engine: EngineHarness,
) -> None:
    engine.say(program({}, {"text": "never"}))
    taken = take_elsewhere(engine)
    call = {"type": "toolCall", "id": "call-1", "name": "write", "arguments": {"path": "a", "content": "b"}}
    message = AssistantEntry.model_validate({"content": [call]})
    engine.turns.step(taken.lease, taken.step + 1, [message], starting="call-1")
    engine.control.stop_session(SESSION)
    engine.waker.turns.clear()
    die(engine)

    engine.work()

    (result,) = [entry for entry in engine.log() if isinstance(entry, ToolResultEntry)]
    assert result.content[0].text == TURN_ENDED_DURING_CALL


def test_calls_left_open_by_a_turn_that_cannot_be_prepared_are_not_run_by_the_next(engine: EngineHarness) -> None:
    """A crash in mid-call, then a configuration without the model: the call must not be made again later."""
    queued = engine.say(program({}, {"text": "never"}))
    call_recorded(engine, take_elsewhere(engine), "echo run >> ran")
    engine.waker.turns.clear()
    engine.stores.sessions.patch(SESSION, {"providerOverride": "nowhere", "modelOverride": "model"})
    die(engine)
    engine.work()
    assert engine.receipt(queued).state == "failed"

    engine.stores.sessions.patch(SESSION, {"providerOverride": "", "modelOverride": ""})
    after = engine.say(program({"text": "a new question"}))
    engine.work()

    assert engine.run_of(after).text == "a new question"
    assert not (workspace(engine) / "ran").exists()
    assert [entry.role for entry in engine.log()] == [
        *("user", "assistant", "toolResult", "notice"),
        *("user", "assistant"),
    ]


def test_a_turn_whose_outcome_cannot_be_written_fails_visibly_with_its_calls_closed(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, failures = engine.turns.commit, iter([ValueError("cannot be written")])

    def commit_at_second_try(*args: Any, **more: Any) -> Any:
        if error := next(failures, None):
            raise error
        return commit(*args, **more)

    monkeypatch.setattr(engine.turns, "commit", commit_at_second_try)
    queued = engine.say(program(execute("touch begun; sleep 60")))
    thread = in_background(engine)
    eventually((workspace(engine) / "begun").exists, within=20)
    engine.process.runs()[0].cancel.set(TurnAborted("killed"))
    thread.join(10)

    assert (engine.receipt(queued).state, engine.run_of(queued).state) == ("failed", "error")
    assert [entry.role for entry in engine.log()] == ["user", "assistant", "toolResult", "notice"]


@pytest.mark.parametrize("error", [StoreUnavailable("Redis is away"), LeaseLost("owned elsewhere")])
def test_a_hand_over_that_cannot_be_written_is_left_to_the_sweep(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Its task must not raise: as the header of a chord it would be counted, though the run goes on elsewhere."""
    engine = make_engine(grace_seconds=0)
    queued = engine.say(program({"text": "done", "delayMs": 1_000}))
    (wake,), results = list(engine.waker.turns), queue.SimpleQueue[Any]()
    thread = threading.Thread(target=lambda: results.put(engine.runner.run(*wake)), daemon=True)
    with monkeypatch.context() as patch:
        patch.setattr(engine.turns, "release", failing_with(error))
        thread.start()
        (handle,) = eventually(engine.process.runs, within=20)
        engine.process.shutdown.begin()
        handle.cancel.set(TurnHandedOver("leaving"))
        assert results.get(timeout=10) is None

    assert engine.ctl("state") == "running"
    heir = make_engine()
    die(heir)
    heir.work()
    assert (heir.run_of(queued).state, heir.run_of(queued).text) == ("ok", "done")


def test_a_failure_that_cannot_be_written_because_another_owns_the_run_is_dropped(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.say(program({"text": "x"}))
    errors = iter([ValueError("cannot be written"), LeaseLost("owned elsewhere")])
    monkeypatch.setattr(engine.turns, "commit", lambda *_args, **_more: failing_with(next(errors))())

    assert engine.runner.run(*engine.waker.turns.pop(0)) is None


def failing_with(error: Exception) -> Callable[..., Any]:
    def fail(*_args: Any, **_more: Any) -> Any:
        raise error

    return fail


def test_a_session_of_an_agent_that_is_no_longer_configured_fails_visibly(engine: EngineHarness) -> None:
    session = SessionKey("agent:retired:main")
    queued = engine.say("anyone there?", session)

    engine.work()

    assert engine.receipt(queued).state == "failed"
    assert "retired" in (engine.run_of(queued).error or "")
    assert engine.ctl("state", session) == "idle"


def test_a_damaged_message_fails_visibly_and_the_session_goes_on(engine: EngineHarness) -> None:
    engine.say("damaged")
    engine.stores.redis.delete(engine.stores.keys.inbox(SESSION))
    engine.stores.redis.zadd(engine.stores.keys.inbox(SESSION), {"{not json": 1})
    after = engine.say(program({"text": "well"}), message_id="m2")

    engine.work()

    assert engine.run_of(after).text == "well"
    assert engine.stores.reader.quarantined() != []


def test_an_answer_that_is_no_valid_unicode_does_not_lose_the_turn(engine: EngineHarness) -> None:
    queued = engine.say('{"steps": [{"text": "before \\ud800 after"}]}')

    engine.work()

    assert engine.run_of(queued).state == "ok"
    assert engine.run_of(queued).text == "before ? after"


def test_at_most_one_suspect_is_carried_even_if_its_wake_is_delivered_twice(engine: EngineHarness) -> None:
    suspect, other = SessionKey("agent:main:suspect"), SessionKey("agent:main:other")
    first = engine.say(program(execute("touch begun; sleep 60")), suspect)
    second = engine.say(program({"text": "quick"}), other)
    for session in (suspect, other):
        engine.set_ctl("attempt", 2, session)
    engine.waker.turns = [(suspect, RunId(str(first.run)))]
    thread = in_background(engine)
    eventually((workspace(engine) / "begun").exists, within=20)

    assert not engine.runner.run(suspect, RunId(str(first.run))), "held"
    assert not engine.runner.run(other, RunId(str(second.run)))
    assert engine.ctl("state", other) == "queued"

    engine.process.runs()[0].cancel.set(TurnAborted("killed"))
    thread.join(10)
    assert engine.work() == 1
    assert engine.run_of(second).text == "quick", "it was woken again when the place became free"


def test_a_model_call_abandoned_by_a_leaving_worker_is_repeated_elsewhere_and_counted(
    engine: EngineHarness, make_engine: MakeEngine
) -> None:
    queued = engine.say(program({"text": "late", "delayMs": 1_000}))
    thread = in_background(engine)
    (handle,) = eventually(engine.process.runs, within=20)
    handle.cancel.set(TurnHandedOver("leaving"))
    thread.join(5)
    heir = make_engine()
    heir.waker.turns = engine.waker.turns

    assert heir.work() == 1

    run = heir.run_of(queued)
    assert (run.state, run.text, run.attempt) == ("ok", "late", 1)
    (answer,) = (entry for entry in heir.log() if isinstance(entry, AssistantEntry))
    # The stop may have come before the call began.
    assert run.usage.input in (answer.usage.input, 2 * answer.usage.input)


def test_steered_messages_end_with_the_turn_they_joined(make_engine: MakeEngine) -> None:
    engine = make_engine({"messages": {"queue": {"mode": "steer"}}})
    steps = [execute("touch begun; until [ -e go ]; do sleep 0.05; done"), {"text": "unsteered"}]
    first = engine.say(program(*steps))
    thread = in_background(engine)
    eventually((workspace(engine) / "begun").exists, within=20)
    second = engine.say(program({"text": "steered"}))
    (workspace(engine) / "go").touch()
    thread.join(10)

    assert engine.run_of(first).id == engine.run_of(second).id
    assert engine.run_of(first).text == "steered"
    assert engine.run_of(first).covers == [first.message_id, second.message_id]
    assert QueueMode.STEER in [getattr(entry, "provenance", None) for entry in engine.log()]


def test_a_word_of_ones_own_begins_a_new_session_and_the_usual_ones_no_longer_do(make_engine: MakeEngine) -> None:
    engine = make_engine({"session": {"resetTriggers": ["!fresh"]}})
    engine.say("hello")
    engine.work()
    before = engine.stores.reader.session(SESSION)

    with pytest.raises(BadInput, match="/new is not a command"):
        engine.say("/new")
    engine.say("/new is just text here")
    engine.work()
    kept = engine.stores.reader.session(SESSION)
    engine.say("!fresh")
    engine.work()
    after = engine.stores.reader.session(SESSION)

    assert before is not None
    assert kept is not None
    assert after is not None
    assert kept.session_id == before.session_id
    assert after.session_id != before.session_id


def test_bytes_in_the_log_that_are_no_text_are_set_aside_and_the_session_goes_on(engine: EngineHarness) -> None:
    engine.say(program({"text": "before"}))
    engine.work()
    engine.stores.redis.rpush(engine.stores.keys.log(SESSION), b"\xff\xfe")

    after = engine.say(program({"text": "well"}))
    engine.work()

    assert engine.run_of(after).text == "well"
    assert engine.stores.reader.quarantined() != []
