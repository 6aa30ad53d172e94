"""Revoking a run by Celery's own means, as Flower's button does, is the engine's stop; no wake-up is thrown away."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.tree import BatchState
from tests.support.faulty_workers import staff
from tests.support.fleet import Fleet, session_key
from tests.support.programs import program, say, spawn
from tests.support.tree import batch_of, children_of
from tests.support.waiting import eventually

FOR_EVER = program(say("never", delay_ms=60_000))


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_queued_run_that_is_revoked_is_stopped_and_its_session_goes_on(unstaffed: Fleet, pool: str) -> None:
    # Given a worker whose only slot is taken, and a run that waits for it
    unstaffed.worker(concurrency=1, pool=pool)
    busy = unstaffed.send(FOR_EVER, "busy")
    unstaffed.carrier("busy")
    waiting = unstaffed.send(program(say("never")), "waiting")

    # When it is revoked, and so is the one at work
    unstaffed.tell_workers("revoke", task_id=waiting.run)
    stopped = unstaffed.outcome(waiting, within=10)
    unstaffed.tell_workers("revoke", task_id=[busy.run], terminate=True, signal="SIGKILL")

    # Then both end as stopped, by no worker's death, and both sessions answer what comes next
    assert stopped.receipt.state is MessageState.CANCELLED
    assert unstaffed.run(waiting.run).state is RunState.KILLED
    assert unstaffed.run(waiting.run).reason == "revoked"
    ended = unstaffed.outcome(busy, within=10).run
    assert ended is not None
    assert (ended.state, ended.reason, ended.attempt) == (RunState.KILLED, "revoked", 1)
    for session in ("waiting", "busy"):
        assert unstaffed.outcome(unstaffed.send(program(say("well")), session), within=10).text == "well"


def test_the_command_terminate_is_a_stop_too(unstaffed: Fleet) -> None:
    unstaffed.worker()
    busy = unstaffed.send(FOR_EVER)
    unstaffed.carrier()

    unstaffed.tell_workers("terminate", signal="KILL", task_id=[busy.run])

    ended = unstaffed.outcome(busy, within=10).run
    assert ended is not None
    assert (ended.state, ended.reason) == (RunState.KILLED, "revoked")


def test_a_sub_agent_that_is_revoked_is_announced_as_stopped(unstaffed: Fleet) -> None:
    unstaffed.ready(*staff(unstaffed, "main", "subagent", "service"))
    unstaffed.send(program(spawn(FOR_EVER), say("spawned"), say("heard")), "root")
    child = eventually(lambda: next(iter(children_of(unstaffed.stores, session_key("root"))), None), within=10)

    unstaffed.tell_workers("revoke", task_id=child.id)

    batch = eventually(lambda: _announced(unstaffed), within=15)
    assert batch is BatchState.DELIVERED
    assert unstaffed.run(child.id).state is RunState.KILLED


def _announced(fleet: Fleet) -> BatchState | None:
    (child,) = children_of(fleet.stores, session_key("root"))
    state = batch_of(fleet.stores, child).state
    return state if state is BatchState.DELIVERED else None


def test_what_is_no_run_is_not_revoked(unstaffed: Fleet) -> None:
    unstaffed.worker()

    (reply,) = unstaffed.tell_workers("revoke", task_id=["run-unknown", "archive-1"])

    assert "no such run: archive-1, run-unknown" in reply["ok"]


def test_a_wake_up_is_not_thrown_away_by_what_other_workers_say_is_revoked(unstaffed: Fleet) -> None:
    """Workers exchange what they believe to be revoked when they start, and keep it for hours."""
    unstaffed.worker()
    sent = unstaffed.send(program(say("well")), lose_wake_up=True)

    unstaffed.tell_workers("hello", from_node="another", revoked=[sent.run])
    unstaffed.waker.turn(sent.session_key, unstaffed.run(sent.run).id)

    assert unstaffed.outcome(sent, within=10).text == "well"
