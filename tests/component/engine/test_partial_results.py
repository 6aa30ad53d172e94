"""What is told of a child that came to no whole answer: the last thing it said, and the last tool it called."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openclaw_workers.agent.prompt.texts import RESULT_CUT_OFF
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, ToolCallBlock
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.engine.tree.announce import TRIES_AFTER_MS
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.component.engine.tree_builder import CHILD, announces, ask, child, children, pending, reread, settle
from tests.component.engine.wire_harness import wire_engine
from tests.support.programs import program, say, spawn
from tests.support.wire import Called, Reply, WireServer

MIDDLE = program(spawn(CHILD, text="I ask another."), say("waiting"), say("never"))
LAST_CALL = '[last tool call: sessions_spawn {"task":'


def parked(engine: EngineHarness) -> Run:
    """A child that waits for its own, which nobody has taken yet."""
    ask(engine, task=MIDDLE)
    engine.runner.run(*engine.waker.turns.pop(0))
    run = child(engine)
    assert run.state is RunState.PARKED
    return run


def woken(engine: EngineHarness) -> Run:
    """A child that has been told what its own child found, and that nobody has taken yet."""
    run = parked(engine)
    engine.work()
    (inner,) = pending(engine)
    engine.announcer.announce(inner)
    assert reread(engine, run).state is RunState.QUEUED
    return run


def at_work(engine: EngineHarness) -> Run:
    """A child that has called a tool, and whose worker says no more."""
    ask(engine)
    run = child(engine)
    taken = engine.take(run.session_key)
    calls = [ToolCallBlock(id="c", name="sessions_spawn", arguments={"task": "x"})]
    said = AssistantEntry(content=[TextBlock(text="waiting"), *calls], run_id=run.id)
    engine.turns.step(taken.lease, 1, [said])
    return run


def stop(engine: EngineHarness, run: Run) -> None:
    engine.control.stop_run(RunId(run.id))


def delete(engine: EngineHarness, run: Run) -> None:
    engine.control.delete(run.session_key)


def reset(engine: EngineHarness, run: Run) -> None:
    engine.control.reset(run.session_key)


@pytest.mark.parametrize(
    ("grow", "end"),
    [(parked, stop), (woken, stop)] + [(grow, end) for grow in (parked, woken, at_work) for end in (delete, reset)],
)
def test_a_child_ended_from_outside_is_announced_with_what_it_had(
    engine: EngineHarness, grow: Callable[[EngineHarness], Run], end: Callable[[EngineHarness, Run], None]
) -> None:
    run = grow(engine)

    end(engine, run)
    engine.waker.turns.clear()
    settle(engine)

    kept = reread(engine, run)
    assert kept.state is RunState.KILLED
    assert (kept.partial or "").startswith(f"waiting\n{LAST_CALL}")
    reported = announces(engine)[-1]
    assert wrap(kept.partial or "", "partial result") in reported


def test_a_child_that_waits_for_a_blocked_delivery_ends_with_what_it_had(engine: EngineHarness) -> None:
    run = parked(engine)
    engine.work()
    (inner,) = pending(engine)
    engine.stores.redis.set(engine.stores.keys.inbox(run.session_key), "broken")

    for _ in range(len(TRIES_AFTER_MS) + 1):
        engine.announcer.announce(inner)

    kept = reread(engine, run)
    assert (kept.state, (kept.partial or "").partition("\n")[0]) == (RunState.ERROR, "waiting")
    assert LAST_CALL in (kept.partial or "")


def test_a_woken_child_that_fails_is_reported_with_what_it_had_before_it_was_woken(engine: EngineHarness) -> None:
    ask(engine, task=program(spawn(CHILD), say("waiting"), {"fail": "auth"}))
    settle(engine)

    kept = child(engine)
    assert kept.state is RunState.ERROR
    assert (kept.partial or "").startswith(f"waiting\n{LAST_CALL}")


def test_what_an_earlier_run_of_the_child_said_is_no_part_of_it(engine: EngineHarness) -> None:
    ask(engine)
    settle(engine)
    engine.say("again", child(engine).session_key)
    _, second = children(engine)

    stop(engine, second)

    assert reread(engine, second).partial is None


def test_a_child_whose_transcript_cannot_be_read_is_stopped_all_the_same(engine: EngineHarness) -> None:
    run = parked(engine)
    log = engine.stores.keys.log(run.session_key)
    engine.stores.redis.delete(log)
    engine.stores.redis.set(log, "no list")

    stop(engine, run)

    assert reread(engine, run).state is RunState.KILLED


def test_a_childs_answer_that_stops_at_the_output_limit_is_reported_as_cut_off(make_engine: MakeEngine) -> None:
    with WireServer() as server:
        wired = wire_engine(make_engine, server, model="a/m")
        spawning = Reply(calls=[Called("sessions_spawn", {"task": "tell all"})])
        wired.plan("a1:m", spawning, Reply("spawned"))
        wired.plan("a2:m", Reply("half an ans", stop="length"))  # keys take turns
        wired.engine.say("go")

        settle(wired.engine)

    (run,) = children(wired.engine)
    assert (run.state, run.reason, run.text) == (RunState.OK, "length", "half an ans")
    assert f"status: completed\n{RESULT_CUT_OFF}" in announces(wired.engine)[0]
