"""Redis dies, freezes, or is not there yet (I1, I8)."""

from __future__ import annotations

import socket
import time

import pytest

from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.models.messages import MessageState
from tests.support.checker import check
from tests.support.fleet import Fleet
from tests.support.load import Load
from tests.support.ocw import Ocw, finish
from tests.support.programs import Program, call, mark, program, say
from tests.support.waiting import eventually

ANSWERED_WITHIN_SECONDS = 3
"""What accepting promises whatever Redis does."""


def small_turn(number: int) -> Program:
    if number % 10 == 0:
        return program(call(mark(f"mark-{number}")), say(str(number)))
    return program(say(str(number), delay_ms=20))


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_redis_killed_under_load_loses_no_accepted_message(fleet: Fleet, pool: str) -> None:
    fleet.ready(*(fleet.worker(pool=pool, wait=False) for _ in range(2)))
    with Load(fleet, small_turn, sessions=20) as load:
        for _ in range(2):
            load.more(60)
            fleet.redis_server.restart()
        load.more(60)

    check(fleet.stores, load.sent, one_each=True)
    assert {fleet.receipt(queued).state for queued in load.sent} == {MessageState.ANSWERED}
    assert max(fleet.count(f"mark-{number}") for number in range(0, len(load.sent), 10)) == 1


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_keeps_its_turns_and_consumes_again_after_each_restart_of_redis(fleet: Fleet, pool: str) -> None:
    """Idle children go on waiting for messages while one carries a turn: Celery has both to put right."""
    worker = fleet.worker(pool=pool)
    for number in range(2):
        turn = fleet.send(program(say("long", delay_ms=1_500)), "long")
        eventually(lambda: fleet.carries(worker) == 1, within=20)
        fleet.redis_server.restart()
        following = fleet.send(small_turn(number), "short")

        assert fleet.outcome(following).text == str(number)
        long = fleet.outcome(turn)
        assert long.run is not None
        assert len(long.run.attempts) == 1
    assert worker.is_running()


def test_a_frozen_redis_makes_accept_answer_an_error_within_3_seconds(fleet: Fleet) -> None:
    fleet.ready(*(fleet.worker(wait=False) for _ in range(2)))
    accept_through_a_freeze(fleet, seconds=8)


def accept_through_a_freeze(fleet: Fleet, *, seconds: float) -> None:
    with Load(fleet, small_turn, sessions=20) as load:
        load.more(100)
        fleet.redis_server.stop()
        frozen = time.monotonic()
        while time.monotonic() - frozen < seconds:
            begun = time.monotonic()
            with pytest.raises(StoreUnavailable):
                fleet.send(small_turn(0))
            assert time.monotonic() - begun < ANSWERED_WITHIN_SECONDS
        fleet.redis_server.cont()
        load.more(50)

    assert len(load.refusals_seconds) >= 2
    assert max(load.refusals_seconds) < ANSWERED_WITHIN_SECONDS
    check(fleet.stores, load.sent, one_each=True)
    assert {fleet.receipt(queued).state for queued in load.sent} == {MessageState.ANSWERED}


def test_ocw_agent_answers_within_3_seconds_that_redis_does_not(fleet: Fleet) -> None:
    """Counted from its first connection, to a server that takes it and says nothing: so does a frozen Redis."""
    ocw = Ocw(fleet)
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        frozen.settimeout(60)
        ocw.env["REDIS_URL"] = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
        process = ocw.start("agent", "-m", "hello")
        connection, _ = frozen.accept()
        asked = time.monotonic()
        done = finish(process)
        took_seconds = time.monotonic() - asked
        connection.close()

    assert done.code == 4, done
    assert "the message was not accepted" in done.err
    assert took_seconds < ANSWERED_WITHIN_SECONDS


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_started_before_redis_comes_up_by_itself(fleet: Fleet, pool: str) -> None:
    fleet.redis_server.kill()
    worker = fleet.worker(pool=pool, wait=False)
    eventually(lambda: "Cannot connect" in worker.log_text(), within=60)

    fleet.redis_server.start()
    queued = fleet.send(small_turn(1))

    assert fleet.outcome(queued).text == "1"
    assert worker.is_running()
