"""A worker loses its leases only if it hangs itself: not while Redis is away, not because of another turn's tool."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.transcript import ToolResultEntry
from tests.support.checker import check
from tests.support.fleet import Fleet, Outcome
from tests.support.programs import Call, Program, call, mark, program, say
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

TURNS = 20
BUSY_STEPS = 6


@dataclass(frozen=True, slots=True)
class Blocking:
    call: Call
    message: str
    ended_within: float
    """Seconds from the start of the call: its time limit, plus the time to end it."""


BLOCKING = {
    "command": Blocking(
        {"tool": "exec", "input": {"command": "trap '' TERM; while :; do sleep 1; done", "timeout_seconds": 2}},
        "ended after 2 s",
        ended_within=5,
    ),
    "pattern": Blocking(
        {"tool": "read", "input": {"path": "trap.txt", "pattern": "^(a+)+$"}},
        "did not finish within 5 s",
        ended_within=8,
    ),
}


def assert_kept(outcome: Outcome) -> None:
    assert outcome.receipt.state is MessageState.ANSWERED
    assert outcome.run is not None
    assert [attempt.how for attempt in outcome.run.attempts] == ["taken"]


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_no_turn_is_taken_over_because_redis_was_frozen(fleet: Fleet, pool: str) -> None:
    """Frozen for three leases, so that every lease looks expired."""
    carry_through(freeze, fleet, pool, seconds=6)


def test_no_turn_is_taken_over_because_redis_was_gone(fleet: Fleet) -> None:
    """Rule 7: no renewal is waiting in a socket, so the sweep may run before the first renewal."""
    carry_through(take_away, fleet, "threads", seconds=6)


def freeze(redis: RedisServer, seconds: float) -> None:
    redis.stop()
    wait_for(seconds)
    redis.cont()


def take_away(redis: RedisServer, seconds: float) -> None:
    redis.kill()
    wait_for(seconds)
    redis.start()


def wait_for(seconds: float) -> None:
    begun = time.monotonic()
    eventually(lambda: time.monotonic() - begun >= seconds, within=seconds + 5)


def carry_through(fault: Callable[[RedisServer, float], None], fleet: Fleet, pool: str, *, seconds: float) -> None:
    """Half of the turns write during the fault, the others wait for a model."""
    waiting = program(say("done", delay_ms=int(seconds * 1000) + 2_000))
    fleet.ready(*(fleet.worker(pool=pool, concurrency=TURNS // 2, wait=False) for _ in range(2)))
    sent = [fleet.send(waiting if number % 2 else busy(f"s{number}"), f"s{number}") for number in range(TURNS)]
    eventually(lambda: len(fleet.stores.reader.running()) == TURNS, within=30)

    fault(fleet.redis_server, seconds)

    for outcome in fleet.outcomes(sent):
        assert_kept(outcome)
    assert [fleet.count(f"s{number}") for number in range(0, TURNS, 2)] == [BUSY_STEPS] * (TURNS // 2)
    check(fleet.stores, sent, one_each=True)


def busy(name: str) -> Program:
    return program(*(call(mark(name), delay_ms=700) for _ in range(BUSY_STEPS)), say("done"))


def test_blocking_tools_end_with_an_error_and_their_neighbours_keep_their_leases(fleet: Fleet) -> None:
    """Rule 8: one process runs all turns; a second one is ready to take over any turn whose lease expires."""
    fleet.workspace.mkdir()
    (fleet.workspace / "trap.txt").write_text("a" * 60 + "b\n")
    carrier = fleet.worker(concurrency=8)
    neighbours = [fleet.send(program(say("done", delay_ms=7_000)), f"neighbour-{number}") for number in range(3)]
    blocked = {name: fleet.send(program(call(BLOCKING[name].call), say("done")), name) for name in BLOCKING}
    eventually(lambda: fleet.carries(carrier) == 5, within=20)
    fleet.worker(wait=False)

    for name, queued in blocked.items():
        assert_kept(fleet.outcome(queued))
        assert tool_seconds(fleet, name) < BLOCKING[name].ended_within
        [result] = [entry for entry in fleet.transcript(name) if isinstance(entry, ToolResultEntry)]
        assert result.is_error
        assert BLOCKING[name].message in result.content[0].text
    for outcome in fleet.outcomes(neighbours):
        assert_kept(outcome)


def tool_seconds(fleet: Fleet, session: str) -> float:
    """How long the only tool call of a session took, according to its events."""
    [started], [ended] = (fleet.events(session, kind=kind) for kind in ("tool.started", "tool.ended"))
    return (ended.at - started.at) / 1000
