"""kill -9 of a whole worker in the middle of turns (I1, I2, I5, I8)."""

from __future__ import annotations

import time

import pytest

from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.transcript import ToolResultEntry
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.fleet import Fleet
from tests.support.programs import Program, call, mark, program, say
from tests.support.waiting import eventually

LONG_MS = 1_500
"""Long enough to kill the worker meanwhile, short enough to wait for again."""


def two_tools(name: str, *, slow: int) -> Program:
    """Three model calls around two tool calls; the worker can be killed during the slow one."""
    delays = [LONG_MS if step == slow else 0 for step in range(3)]
    return program(
        call(mark(f"{name}-first"), delay_ms=delays[0]),
        call(mark(f"{name}-second"), delay_ms=delays[1]),
        say(f"{name} done", delay_ms=delays[2]),
    )


def wait_for_entries(fleet: Fleet, session: str, count: int) -> None:
    eventually(lambda: len(fleet.transcript(session)) >= count, within=20)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_another_worker_finishes_a_killed_workers_turns_without_repeating_tools(fleet: Fleet, pool: str) -> None:
    """I1, I2, I5: the worker dies before, between and after two tool calls; each turn has one answer."""
    victim = fleet.worker(pool=pool)
    names, sent = ["after", "between", "before"], []
    # The turn with the latest slow step starts first, so that all are in their slow step when the worker dies.
    for name, slow, journalled in zip(names, (2, 1, 0), (5, 3, 1), strict=True):
        sent.append(fleet.send(two_tools(name, slow=slow), name))
        wait_for_entries(fleet, name, journalled)

    victim.kill()
    fleet.worker(pool=pool)
    outcomes = fleet.outcomes(sent)

    assert [outcome.text for outcome in outcomes] == [f"{name} done" for name in names]
    for name in names:
        assert (fleet.count(f"{name}-first"), fleet.count(f"{name}-second")) == (1, 1), name
        assert len(fleet.transcript(name)) == 6
    for outcome in outcomes:
        assert outcome.run is not None
        assert [attempt.how for attempt in outcome.run.attempts] == ["taken", "takeover"]
    check(fleet.stores, sent, one_each=True)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_an_interrupted_tool_is_reported_to_the_model_and_not_run_again(fleet: Fleet, pool: str) -> None:
    """I5: `exec` may have had its effect, so the result of the call is "interrupted". The calls after it still run."""
    fleet.ready(fleet.worker(pool=pool, wait=False), fleet.worker(pool=pool, wait=False))
    calls = [mark("done"), mark("cut", then="until test -e go; do sleep 0.02; done"), mark("later")]
    queued = fleet.send(program(call(*calls), say("I see")))
    eventually(lambda: fleet.count("cut") == 1, within=20)

    fleet.carrier().kill()
    (fleet.workspace / "go").touch()
    outcome = fleet.outcome(queued)

    assert outcome.receipt.state is MessageState.ANSWERED
    assert outcome.text == "I see"
    assert [fleet.count(name) for name in ("done", "cut", "later")] == [1, 1, 1]
    results = [entry for entry in fleet.transcript() if isinstance(entry, ToolResultEntry)]
    assert [result.is_error for result in results] == [False, True, False]
    assert "[interrupted]" in results[1].content[0].text
    check(fleet.stores, [queued], one_each=True)


def test_with_default_settings_a_killed_workers_turn_is_resumed_within_15_seconds(make_fleet: MakeFleet) -> None:
    """I8: the lease (8 s by default) sets the recovery time; nothing has to trigger the recovery."""
    fleet = make_fleet(defaults=True)
    fleet.ready(fleet.worker(wait=False), fleet.worker(wait=False))
    queued = fleet.send(program(call(mark("tool")), say("back", delay_ms=2_000)))
    wait_for_entries(fleet, "main", 3)

    fleet.carrier().kill()
    killed = time.monotonic()
    eventually(lambda: len(fleet.run(queued.run).attempts) == 2, within=15)

    resumed_seconds = time.monotonic() - killed
    assert resumed_seconds < 15
    assert fleet.outcome(queued).text == "back"
    assert fleet.count("tool") == 1
    check(fleet.stores, [queued], one_each=True)
