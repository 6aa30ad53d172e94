"""On SIGTERM, workers hand their turns over and leave in time (I1, I2, I3, I5, rule 5)."""

from __future__ import annotations

import time

import pytest

from openclaw_workers.domain.messages import MessageState
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.fleet import Fleet, WorkerProcess
from tests.support.load import Load
from tests.support.programs import Program, call, mark, program, say
from tests.support.waiting import eventually

STEPS = 4
# Celery needs some of it to close: a second with threads, two to three with prefork, more on a busy machine.
GRACE_SECONDS = {"threads": 6.0, "prefork": 8.0}
TICK_SECONDS = 2.5
"""The ticker ends a process that is still running; its last tick may wait for a connection to Redis."""
IDLE_SECONDS = {"threads": 3.0, "prefork": 5.0}

both_pools = pytest.mark.parametrize("pool", ["threads", "prefork"])


def several_steps(number: int) -> Program:
    tools = [call(mark(f"mark-{number}"), delay_ms=100) for _ in range(STEPS)]
    return program(*tools, say(str(number), delay_ms=100))


def leave(worker: WorkerProcess) -> float:
    """Send SIGTERM and return how many seconds the worker took to leave."""
    asked = time.monotonic()
    worker.term()
    code = worker.wait(within=60)
    took_seconds = time.monotonic() - asked
    assert code == 0, worker.log_text()
    return took_seconds


@both_pools
def test_a_rolling_restart_under_load_loses_and_repeats_nothing(make_fleet: MakeFleet, pool: str) -> None:
    fleet = make_fleet({"engine": {"graceSeconds": GRACE_SECONDS[pool]}})
    roll(fleet, pool, restarts=3)


def roll(fleet: Fleet, pool: str, *, restarts: int) -> None:
    workers = [fleet.worker(pool=pool, wait=False) for _ in range(2)]
    fleet.ready(*workers)
    with Load(fleet, several_steps, sessions=20, pause_seconds=0.1) as load:
        for _ in range(restarts):
            workers.append(fleet.worker(pool=pool))
            oldest = workers.pop(0)
            eventually(lambda worker=oldest: fleet.carries(worker) >= 2, within=30)  # type: ignore[misc]
            assert leave(oldest) < fleet.settings.engine.grace_seconds

    check(fleet.stores, load.sent, one_each=True)
    assert {fleet.receipt(queued).state for queued in load.sent} == {MessageState.ANSWERED}
    assert {fleet.count(f"mark-{number}") for number in range(len(load.sent))} == {STEPS}
    runs = fleet.runs()
    assert {run.attempt for run in runs} == {1}
    assert {attempt.how for run in runs for attempt in run.attempts} == {"taken", "handover"}


@both_pools
def test_a_model_call_longer_than_the_grace_is_abandoned_and_repeated_elsewhere(
    make_fleet: MakeFleet, pool: str
) -> None:
    """Its tokens were spent, so they count. The same turn without a handover shows how many one call takes."""
    grace_seconds = GRACE_SECONDS[pool]
    fleet = make_fleet({"engine": {"graceSeconds": grace_seconds}})
    leaving = fleet.worker(pool=pool)
    turn = program(call(mark("tool")), say("done", delay_ms=int(grace_seconds * 1000) + 500))
    queued = fleet.send(turn, "long")
    eventually(lambda: len(fleet.transcript("long")) == 3, within=20)

    assert leave(leaving) < grace_seconds
    fleet.worker(pool=pool)
    undisturbed = fleet.send(turn, "calm")
    moved, calm = fleet.outcome(queued).run, fleet.outcome(undisturbed).run

    assert moved is not None
    assert calm is not None
    assert moved.text == "done"
    assert (moved.attempt, [attempt.how for attempt in moved.attempts]) == (1, ["taken", "handover"])
    assert fleet.count("tool") == 2
    last_call = calm.usage.input - first_call_input(fleet, "calm")
    assert moved.usage.input == calm.usage.input + last_call
    assert moved.usage.output == calm.usage.output
    check(fleet.stores, [queued, undisturbed], one_each=True)


def first_call_input(fleet: Fleet, session: str) -> int:
    entry = fleet.transcript(session)[1]
    assert entry.role == "assistant"
    return entry.usage.input


@both_pools
def test_a_worker_leaves_in_time_while_redis_is_away_and_another_takes_over(make_fleet: MakeFleet, pool: str) -> None:
    """It cannot hand anything over. Its lease expires, and another worker takes over."""
    grace_seconds = GRACE_SECONDS[pool]
    fleet = make_fleet({"engine": {"graceSeconds": grace_seconds}})
    leaving = fleet.worker(pool=pool)
    queued = fleet.send(program(call(mark("tool")), say("done", delay_ms=1_000)))
    eventually(lambda: len(fleet.transcript()) == 3, within=20)
    fleet.redis_server.kill()
    eventually(lambda: "store.unavailable" in leaving.log_text(), within=20)

    asked = time.monotonic()
    leaving.term()
    leaving.wait(within=60)
    took_seconds = time.monotonic() - asked
    fleet.redis_server.start()
    fleet.worker(pool=pool)
    outcome = fleet.outcome(queued)

    assert took_seconds < grace_seconds + TICK_SECONDS
    assert "Traceback" not in leaving.log_text()
    assert (outcome.text, fleet.count("tool")) == ("done", 1)
    assert outcome.run is not None
    assert [attempt.how for attempt in outcome.run.attempts] == ["taken", "takeover"]
    check(fleet.stores, [queued], one_each=True)


@both_pools
def test_an_idle_worker_leaves_in_a_few_seconds(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker(pool=pool)

    assert leave(worker) < IDLE_SECONDS[pool]
    assert fleet.stores.workers.all() == []
