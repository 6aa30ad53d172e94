"""Celery's events say how each run ended, whoever ended it, and chords still count runs that did not answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.tree import BatchState
from tests.support.celery_events import TaskStates, task_states
from tests.support.faulty_workers import start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.programs import program, say, spawn
from tests.support.tree import batch_of, children_of
from tests.support.waiting import eventually

FOR_EVER = program(say("never", delay_ms=60_000))


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path / "fleet", {"engine": {"maxAttempts": 1}}) as fleet:
        yield fleet


def ended_as(states: TaskStates, run: str | None, state: str) -> str:
    """Wait until a run is shown in this state; returns the reason."""
    assert run is not None
    eventually(lambda: states.of(run)[0] == state, within=30)
    return states.of(run)[1]


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_an_answer_an_error_and_a_stop_have_their_own_states(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool=pool)
    with task_states(fleet.celery) as states:
        eventually(lambda: states.sees_workers, within=30)
        answered = fleet.send(program(say("well")), "answered")
        failed = fleet.send({"steps": [{"fail": "auth"}]}, "failed")
        stopped = fleet.send(FOR_EVER, "stopped")
        fleet.carrier("stopped")

        fleet.control.stop_session(session_key("stopped"))

        ended_as(states, answered.run, "SUCCESS")
        assert ended_as(states, failed.run, "FAILURE").startswith("auth: ")
        assert ended_as(states, stopped.run, "REVOKED") == "killed: the turn was stopped (killed)"


def test_a_run_that_was_stopped_before_a_worker_took_it_is_revoked(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    with task_states(fleet.celery) as states:
        eventually(lambda: states.sees_workers, within=30)
        busy = fleet.send(FOR_EVER, "busy")
        fleet.carrier("busy")
        waiting = fleet.send(program(say("never")), "waiting")
        assert waiting.run is not None
        fleet.control.stop_run(waiting.run)
        fleet.control.stop_session(session_key("busy"))

        ended_as(states, busy.run, "REVOKED")
        ended_as(states, waiting.run, "REVOKED")


def test_a_run_that_was_given_up_is_a_failure(fleet: Fleet) -> None:
    lost = fleet.send(FOR_EVER, "lost", lose_wake_up=True)
    assert lost.run is not None
    first = fleet.worker()
    with task_states(fleet.celery) as states:
        fleet.waker.turn(lost.session_key, lost.run)
        fleet.carrier("lost")
        fleet.worker()
        first.kill()

        assert ended_as(states, lost.run, "FAILURE").startswith("lost: ")


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_revoking_a_parked_run_ends_it_and_its_chord_still_counts(fleet: Fleet, pool: str) -> None:
    """The child waits for its own child and holds no worker."""
    lanes = [fleet.worker(lane, concurrency=4, pool=pool, wait=False) for lane in ("main", "subagent")]
    fleet.ready(*lanes, *start_workers(fleet, "service"))
    with task_states(fleet.celery) as states:
        eventually(lambda: states.sees_workers, within=30)
        fleet.send(program(spawn(program(spawn(FOR_EVER), say("waiting"))), say("spawned"), say("heard")), "root")
        child = eventually(lambda: next(iter(children_of(fleet.stores, session_key("root"))), None), within=30)
        eventually(lambda: fleet.run(child.id).state is RunState.PARKED, within=30)

        fleet.tell_workers("revoke", task_id=child.id, terminate=True, signal="SIGKILL")

        ended_as(states, child.id, "REVOKED")
        eventually(lambda: batch_of(fleet.stores, child).state is BatchState.DELIVERED, within=30)
        assert fleet.run(child.id).reason == "revoked"
