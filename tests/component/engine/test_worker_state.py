"""What one process knows of itself: its runs, its one suspect, its time to leave."""

from __future__ import annotations

import threading
import time

import pytest

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Lane
from openclaw_workers.engine.worker.state import STEP_SLACK_SECONDS, RunHandle, WorkerState
from openclaw_workers.errors import TurnAborted, TurnHandedOver, TurnTimedOut
from openclaw_workers.store.turn_records import Lease

A, B, C = RunId("run-a"), RunId("run-b"), RunId("run-c")


def handle(run: RunId = A, *, seconds_left: float = 60) -> RunHandle:
    return RunHandle(Lease(SessionKey("agent:main:main"), run, Lane.MAIN, "1:n"), seconds_left=seconds_left)


@pytest.fixture
def process() -> WorkerState:
    return WorkerState(grace_seconds=30)


def test_there_is_one_place_for_a_suspect(process: WorkerState) -> None:
    assert process.suspects.reserve(A)
    assert not process.suspects.reserve(B)
    process.suspects.free(A)
    assert process.suspects.reserve(B)


def test_a_second_delivery_of_the_suspect_cannot_free_its_place(process: WorkerState) -> None:
    """The same wake-up may reach two threads; the second finds the session held and leaves again."""
    assert process.suspects.reserve(A)
    assert not process.suspects.reserve(A)
    assert not process.suspects.reserve(B)


def test_only_its_holder_frees_the_place(process: WorkerState) -> None:
    process.suspects.reserve(A)
    assert process.suspects.free(B) is None
    assert not process.suspects.reserve(C)


def test_suspects_that_were_turned_away_come_back_in_order_once_each(process: WorkerState) -> None:
    session = SessionKey("agent:main:main")
    process.suspects.reserve(A)
    for run in (B, C, B):
        process.suspects.defer(session, run)

    assert process.suspects.free(A) == (session, B)
    process.suspects.reserve(B)
    assert process.suspects.free(B) == (session, C)
    process.suspects.reserve(C)
    assert process.suspects.free(C) is None


def test_the_place_is_given_to_exactly_one_of_many_threads(process: WorkerState) -> None:
    won: list[RunId] = []
    barrier = threading.Barrier(16)

    def compete(run: RunId) -> None:
        barrier.wait()
        if process.suspects.reserve(run):
            won.append(run)

    threads = [threading.Thread(target=compete, args=(RunId(f"run-{n}"),)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_runs_are_carried_only_inside_the_block(process: WorkerState) -> None:
    mine = handle()
    with process.carrying(mine):
        assert process.runs() == [mine]
    assert process.runs() == []


def test_a_process_that_is_not_leaving_has_all_the_time(process: WorkerState) -> None:
    assert not process.shutdown.has_begun
    assert process.shutdown.grace_left() == float("inf")


def test_a_second_drain_does_not_extend_the_grace(process: WorkerState) -> None:
    process.shutdown.begin()
    left = process.shutdown.grace_left()
    process.shutdown.begin()
    assert process.shutdown.has_begun
    assert process.shutdown.grace_left() <= left <= 30


def test_near_the_end_of_the_grace_long_calls_are_abandoned() -> None:
    relaxed, pressed = WorkerState(grace_seconds=30), WorkerState(grace_seconds=0)
    for process in (relaxed, pressed):
        process.shutdown.begin()
        mine = handle()
        with process.carrying(mine):
            process.enforce()
            assert isinstance(mine.cancel.reason, TurnHandedOver) == (process is pressed)


def test_a_run_past_its_deadline_is_timed_out(process: WorkerState) -> None:
    late, early = handle(A, seconds_left=0), handle(B)
    with process.carrying(late), process.carrying(early):
        process.enforce()
    assert isinstance(late.cancel.reason, TurnTimedOut)
    assert early.cancel.reason is None


def test_the_first_reason_to_stop_wins(process: WorkerState) -> None:
    mine = handle(seconds_left=0)
    mine.cancel.set(TurnAborted("killed"))
    with process.carrying(mine):
        process.enforce()
    assert isinstance(mine.cancel.reason, TurnAborted)


def test_a_step_is_stuck_only_well_after_its_own_time() -> None:
    mine = handle(seconds_left=600)
    now = time.monotonic()
    mine.allow(5)
    assert not mine.is_stuck(now + 5 + STEP_SLACK_SECONDS - 1)
    assert mine.is_stuck(now + 5 + STEP_SLACK_SECONDS + 1)


def test_no_step_is_allowed_more_than_the_turn_has_left() -> None:
    mine = handle(seconds_left=10)
    mine.allow(3600)
    assert mine.is_stuck(time.monotonic() + 10 + STEP_SLACK_SECONDS + 1)
