"""What is told of a child that came to no whole answer: the last thing it said, and the last tool it called."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openclaw_workers.engine.announcing import TRIES_AFTER_MS
from openclaw_workers.engine.reports import CUT_OFF
from openclaw_workers.models.ids import RunId
from openclaw_workers.models.runs import Run, RunState
from openclaw_workers.models.transcript import AssistantEntry, TextBlock, ToolCallBlock
from openclaw_workers.models.untrusted import wrap
from tests.support.programs import program, say, spawn
from tests.support.wire import Called, Reply, WireServer
from tests.unit.engine.conftest import House, MakeHouse
from tests.unit.engine.tree_talk import CHILD, announces, ask, child, children, pending, reread, settle
from tests.unit.engine.wired_house import wired_house

MIDDLE = program(spawn(CHILD, text="I ask another."), say("waiting"), say("never"))
LAST_CALL = '[last tool call: sessions_spawn {"task":'


def parked(house: House) -> Run:
    """A child that waits for its own, which nobody has taken yet."""
    ask(house, task=MIDDLE)
    house.runner.run(*house.waker.turns.pop(0))
    run = child(house)
    assert run.state is RunState.PARKED
    return run


def woken(house: House) -> Run:
    """A child that has been told what its own child found, and that nobody has taken yet."""
    run = parked(house)
    house.work()
    (inner,) = pending(house)
    house.announcer.announce(inner)
    assert reread(house, run).state is RunState.QUEUED
    return run


def at_work(house: House) -> Run:
    """A child that has called a tool, and whose worker says no more."""
    ask(house)
    run = child(house)
    taken = house.take(run.session_key)
    calls = [ToolCallBlock(id="c", name="sessions_spawn", arguments={"task": "x"})]
    said = AssistantEntry(content=[TextBlock(text="waiting"), *calls], run_id=run.id)
    house.turns.step(taken.lease, 1, [said])
    return run


def stop(house: House, run: Run) -> None:
    house.control.stop_run(RunId(run.id))


def delete(house: House, run: Run) -> None:
    house.control.delete(run.session_key)


def reset(house: House, run: Run) -> None:
    house.control.reset(run.session_key)


@pytest.mark.parametrize(
    ("grow", "end"),
    [(parked, stop), (woken, stop)] + [(grow, end) for grow in (parked, woken, at_work) for end in (delete, reset)],
)
def test_a_child_ended_from_outside_is_announced_with_what_it_had(
    house: House, grow: Callable[[House], Run], end: Callable[[House, Run], None]
) -> None:
    run = grow(house)

    end(house, run)
    house.waker.turns.clear()
    settle(house)

    kept = reread(house, run)
    assert kept.state is RunState.KILLED
    assert (kept.partial or "").startswith(f"waiting\n{LAST_CALL}")
    told = announces(house)[-1]
    assert wrap(kept.partial or "", "partial result") in told


def test_a_child_that_waits_for_a_blocked_delivery_ends_with_what_it_had(house: House) -> None:
    run = parked(house)
    house.work()
    (inner,) = pending(house)
    house.stores.redis.set(house.stores.keys.inbox(run.session_key), "broken")

    for _ in range(len(TRIES_AFTER_MS) + 1):
        house.announcer.announce(inner)

    kept = reread(house, run)
    assert (kept.state, (kept.partial or "").partition("\n")[0]) == (RunState.ERROR, "waiting")
    assert LAST_CALL in (kept.partial or "")


def test_a_woken_child_that_fails_is_told_with_what_it_had_before_it_was_woken(house: House) -> None:
    ask(house, task=program(spawn(CHILD), say("waiting"), {"fail": "auth"}))
    settle(house)

    kept = child(house)
    assert kept.state is RunState.ERROR
    assert (kept.partial or "").startswith(f"waiting\n{LAST_CALL}")


def test_what_an_earlier_run_of_the_child_said_is_no_part_of_it(house: House) -> None:
    ask(house)
    settle(house)
    house.say("again", child(house).session_key)
    _, second = children(house)

    stop(house, second)

    assert reread(house, second).partial is None


def test_a_child_whose_transcript_cannot_be_read_is_stopped_all_the_same(house: House) -> None:
    run = parked(house)
    log = house.stores.keys.log(run.session_key)
    house.stores.redis.delete(log)
    house.stores.redis.set(log, "no list")

    stop(house, run)

    assert reread(house, run).state is RunState.KILLED


def test_a_childs_answer_that_stops_at_the_output_limit_is_told_as_cut_off(make_house: MakeHouse) -> None:
    with WireServer() as server:
        wired = wired_house(make_house, server, model="a/m")
        spawning = Reply(calls=[Called("sessions_spawn", {"task": "tell all"})])
        wired.plan("a1:m", spawning, Reply("spawned"))
        wired.plan("a2:m", Reply("half an ans", stop="length"))  # keys take turns
        wired.house.say("go")

        settle(wired.house)

    (run,) = children(wired.house)
    assert (run.state, run.reason, run.text) == (RunState.OK, "length", "half an ans")
    assert f"status: completed\n{CUT_OFF}" in announces(wired.house)[0]
