"""Announce-back: when a parent hears of its children, and who sees it."""

from __future__ import annotations

import threading

import pytest

from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import (
    UserEntry,
)
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.engine.tree import announce as announcing
from openclaw_workers.errors import TurnAborted
from tests.component.engine.announce_steps import MIDDLE
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.tree_builder import (
    announces,
    ask,
    child,
    children,
    first_turn,
    pending,
    reread,
    settle,
    shown,
    text,
)
from tests.support.programs import call, execute, program, say, spawn
from tests.support.waiting import eventually


def test_each_is_announced_as_it_ends_and_none_never(engine: EngineHarness) -> None:
    step = call(
        {"tool": "sessions_spawn", "input": {"task": text(say("A")), "announce": "each", "label": "a"}},
        {"tool": "sessions_spawn", "input": {"task": text(say("B")), "announce": "each", "label": "b"}},
        {"tool": "sessions_spawn", "input": {"task": text(say("C")), "announce": "none", "label": "c"}},
        {"tool": "sessions_spawn", "input": {"task": text(say("D")), "label": "d"}},
        {"tool": "sessions_spawn", "input": {"task": text(say("E")), "announce": True, "label": "e"}},
    )
    first_turn(engine, step)

    reported = settle(engine)

    assert sorted(str(each) for each in reported) == ["delivered", "delivered", "delivered", "none"]
    labels = [[line for line in each.splitlines() if line.startswith("label:")] for each in announces(engine)]
    assert sorted(labels) == [["label: a"], ["label: b"], ["label: d", "label: e"]]
    assert [run.state for run in children(engine)] == [RunState.OK] * 5


def test_an_announce_joins_a_turn_that_is_running(engine: EngineHarness) -> None:
    # Given a root whose child has ended, and who is in the midst of another turn
    ask(engine)
    engine.work()
    (batch,) = pending(engine)
    queued = engine.say(text(call(execute("until [ -e told ]; do sleep 0.02; done")), say("all heard")))
    turn = threading.Thread(target=engine.work)
    turn.start()
    eventually(lambda: engine.ctl("started") != "" and "tool.started" in engine.events(), within=10)

    # When the results come
    assert engine.announcer.announce(batch) is BatchState.DELIVERED
    (engine.loaded.state_dir / "workspace" / "told").touch()
    turn.join(timeout=10)

    # Then it is in that turn's transcript, and no other turn was needed
    assert len(announces(engine)) == 1
    assert [entry.run_id for entry in engine.log() if isinstance(entry, UserEntry)][-1] == engine.run_of(queued).id
    assert engine.ctl("state") == "idle"
    assert "run.steered" in engine.events()


def test_a_child_that_wants_no_further_turn_carries_its_childrens_results_up(engine: EngineHarness) -> None:
    ask(engine, task=MIDDLE, wakeOnDescendantSettle=False)

    assert settle(engine) == [BatchState.ATTACHED, BatchState.DELIVERED]

    middle = child(engine)
    assert (middle.state, middle.text) == (RunState.OK, "waiting")
    assert announces(engine, middle.session_key) == []
    (reported,) = announces(engine)
    assert reported.count("status: completed") == 2
    assert "leaf's word" in reported


def test_a_child_that_is_woken_answers_with_what_it_heard(engine: EngineHarness) -> None:
    ask(engine, task=MIDDLE)

    assert settle(engine) == [BatchState.DELIVERED, BatchState.DELIVERED]

    middle = child(engine)
    assert middle.text == "middle's word"
    assert len(announces(engine, middle.session_key)) == 1
    (reported,) = announces(engine)
    assert reported.count("status:") == 1
    assert wrap("middle's word", "result") in reported


def test_a_message_to_a_settled_child_has_an_announce_of_its_own(engine: EngineHarness) -> None:
    ask(engine, label="helper", metadata={"n": 1})
    settle(engine)
    first = child(engine)

    engine.say(text(say("second word")), first.session_key)
    assert settle(engine) == [BatchState.DELIVERED]

    one, two = announces(engine)
    assert "child's word" in one
    assert "second word" in two
    assert "label: helper" in two
    assert first.id not in two
    assert reread(engine, first).text == "child's word"


def test_a_failure_is_announced_with_its_error_and_what_there_was(engine: EngineHarness) -> None:
    failing = program(call(execute("true"), text="I got so far."), {"fail": "auth"})
    ask(engine, task=failing)
    settle(engine)

    run = child(engine)
    assert run.outcome == "error"
    (reported,) = announces(engine)
    assert "status: failed" in reported
    assert "I got so far." in reported
    assert "last tool call: exec" in reported


def test_a_child_stopped_at_work_is_announced_with_what_it_had_said_and_its_last_call(engine: EngineHarness) -> None:
    ask(engine, task=program(call(execute("sleep 60"), text="I got so far."), say("never")))
    run = child(engine)
    turn = threading.Thread(target=engine.work, daemon=True)
    turn.start()
    eventually(lambda: "tool.started" in engine.events(run.session_key), within=10)

    engine.control.stop_run(run.id)
    (handle,) = engine.process.runs()
    handle.cancel.set(TurnAborted("killed"))
    turn.join(timeout=10)
    settle(engine)

    assert reread(engine, run).state is RunState.KILLED
    (reported,) = announces(engine)
    assert "status: failed (killed)" in reported
    assert wrap('I got so far.\n[last tool call: exec {"command": "sleep 60"}]', "partial result") in reported


def test_a_slow_plugin_keeps_no_parent_waiting(engine: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    first_turn(engine, spawn(MIDDLE))
    engine.work()
    middle, (batch_id,), woken = child(engine), pending(engine), list[tuple[str, str]]()
    monkeypatch.setattr(announcing, "fire", lambda hook, run: woken.extend(engine.waker.turns))

    engine.announcer.announce(batch_id)

    assert woken == [(middle.session_key, middle.id)]


def test_viewers_of_the_parent_see_each_stage(engine: EngineHarness) -> None:
    ask(engine, task=program({"fail": "auth"}), label="one", metadata={"k": "v"})
    settle(engine)

    run = child(engine)
    (spawned,), (started,), (failed,), (announced,) = (
        shown(engine, f"subagent.{kind}") for kind in ("spawned", "started", "failed", "announced")
    )
    for each in (spawned, started, failed):
        assert (each["run"], each["session"], each["label"]) == (run.id, run.session_key, "one")
        assert each["metadata"] == {"k": "v"}
    assert (spawned["depth"], spawned["parentRun"]) == (1, run.parent_run_id)
    assert failed["state"] == "error"
    assert announced["how"] == "delivered"
    assert announced["runs"] == [
        {
            "run": run.id,
            "session": run.session_key,
            "label": "one",
            "status": "error",
            "reason": "error",
            "subSessionId": run.session_id,
            "durationMs": (run.ended_at or 0) - (run.started_at or 0),
            "tokens": run.usage.total,
            "cost": run.cost,
            "metadata": {"k": "v"},
        }
    ]


def test_viewers_see_the_metadata_as_it_was_given(engine: EngineHarness) -> None:
    """Scripts know numbers of fewer digits, and cannot tell an empty list from an empty object."""
    given = {"id": 1234567890123456, "share": 0.1234567890123456, "tags": [], "more": {"none": None, "in": [[], {}]}}
    ask(engine, task=program({"fail": "auth"}), metadata=given, deliver=True)
    settle(engine)

    assert child(engine).metadata == given
    for kind in ("spawned", "started", "failed"):
        assert [each["metadata"] for each in shown(engine, f"subagent.{kind}")] == [given], kind
    (announced,) = shown(engine, "subagent.announced")
    assert [run["metadata"] for run in announced["runs"]] == [given]


def test_viewers_of_a_parent_that_was_reset_see_whose_results_nobody_has_read(engine: EngineHarness) -> None:
    ask(engine, label="one", metadata={"k": "v"})
    engine.work()
    engine.say("busy")
    engine.take()
    (batch_id,) = pending(engine)
    assert engine.announcer.announce(batch_id) is BatchState.DELIVERED

    engine.control.reset(SESSION)

    (discarded,) = shown(engine, "subagent.discarded")
    assert (discarded["batch"], discarded["reason"]) == (batch_id, "session-reset")
    (reported,) = discarded["runs"]
    assert (reported["run"], reported["status"], reported["metadata"]) == (child(engine).id, "ok", {"k": "v"})


def test_an_announce_to_an_idle_root_answers_where_it_was_last_spoken_to(engine: EngineHarness) -> None:
    ask(engine)
    engine.work()
    engine.stores.sessions.patch(SESSION, {"lastChannel": "telegram", "lastTo": "42"})
    (batch_id,) = pending(engine)
    engine.announcer.announce(batch_id)

    (entry,) = engine.stores.inbox.waiting(SESSION)
    assert (entry.route.channel, entry.route.to, entry.kind) == ("telegram", "42", "internal")
    assert entry.mode is QueueMode.STEER
    engine.work()
    assert engine.stores.reader.runs()[0].text == "heard"


def test_a_child_that_was_interrupted_reports_that_and_then_answers(make_engine: MakeEngine) -> None:
    engine = make_engine({"messages": {"queue": {"mode": "interrupt", "debounceMs": 0}}})
    first_turn(engine, spawn(MIDDLE))
    engine.runner.run(*engine.waker.turns.pop(0))
    middle = child(engine)
    assert middle.state is RunState.PARKED

    engine.say(text(say("instead")), middle.session_key)
    settle(engine)

    assert reread(engine, middle).state is RunState.OK
    reported = "\n".join(announces(engine))
    assert reported.count(middle.id) == 1
    assert engine.stores.tree.counts(SESSION, SESSION) == (0, 0)
