"""A worker paused longer than its leases wakes up and believes it still owns its turns (I1, I2, I5, rule 6)."""

from __future__ import annotations

import time

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import ToolResultEntry
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.fleet import Fleet
from tests.support.programs import call, mark, program, say
from tests.support.waiting import eventually

LEASE_SECONDS = 1.0
SLOW_MS = 1_500

HOLD = "until test -e go; do sleep 0.02; done"

TURNS = {
    # The sleeper wakes to write a tool's result, ...
    "in-tool": (program(call(mark("in-tool", then=HOLD)), say("done")), 2),
    # ... a final answer, ...
    "before-answer": (program(call(mark("before-answer")), say("done", delay_ms=SLOW_MS)), 3),
    # ... or an assistant message, and to run its tool.
    "before-tool": (program(call(mark("before-tool"), delay_ms=SLOW_MS), say("done")), 1),
}
COPIES = range(3)
"""Several of each, so that many threads write late at once."""
SESSIONS = [f"{name}-{copy}" for name in TURNS for copy in COPIES]


def begin_all(fleet: Fleet) -> list[Queued]:
    """Bring every turn to the point where it is paused. Those that stay there by themselves come first."""
    sent = []
    for name, (turn, journalled) in TURNS.items():
        sent += [fleet.send(turn, f"{name}-{copy}") for copy in COPIES]
        for copy in COPIES:
            wait_for_entries(fleet, f"{name}-{copy}", journalled)
        if name == "in-tool":
            eventually(lambda: fleet.count("in-tool") == len(COPIES), within=20)
    return sent


def wait_for_entries(fleet: Fleet, session: str, journalled: int) -> None:
    eventually(lambda: len(fleet.transcript(session)) == journalled, within=20)


def test_every_late_write_of_a_worker_paused_for_three_leases_is_refused(make_fleet: MakeFleet) -> None:
    """I1, I2, I5: another worker finishes the turns; the sleeper adds no entry, no answer and runs no tool.

    It ignores its ticker, so it really tries each write.
    """
    fleet = make_fleet({"engine": {"leaseSeconds": LEASE_SECONDS}})
    sleeper = fleet.worker(concurrency=len(SESSIONS), ignores_ticks=True)
    sent = begin_all(fleet)

    sleeper.pause()
    paused = time.monotonic()
    fleet.worker(concurrency=len(SESSIONS))
    outcomes = fleet.outcomes(sent)
    eventually(lambda: time.monotonic() - paused > 3 * LEASE_SECONDS, within=30)
    finished = {session: fleet.transcript(session) for session in SESSIONS}
    (fleet.workspace / "go").touch()
    sleeper.resume()
    eventually(lambda: sleeper.finished() == len(SESSIONS), within=20)

    assert {outcome.receipt.state for outcome in outcomes} == {MessageState.ANSWERED}
    assert {session: fleet.transcript(session) for session in SESSIONS} == finished
    assert {name: fleet.count(name) for name in TURNS} == dict.fromkeys(TURNS, len(COPIES))
    assert sleeper.fenced() == len(SESSIONS)
    check(fleet.stores, sent, one_each=True)


def test_a_worker_that_lost_its_turn_starts_no_tool_even_while_nobody_owns_the_turn(make_fleet: MakeFleet) -> None:
    """I5, rule 6: the sweep itself ends the lease; it does not leave that to the next owner.

    Otherwise the sleeper would continue to write, and the next owner would find a call that looks interrupted.
    The sleeper has one thread, so it tries its late write before it can take the turn again.
    """
    fleet = make_fleet({"engine": {"leaseSeconds": LEASE_SECONDS}})
    sleeper = fleet.worker(concurrency=1, ignores_ticks=True)
    fleet.worker("service")  # sweeps, and takes no turns
    queued = fleet.send(program(call(mark("tool", then=HOLD), delay_ms=SLOW_MS), say("done")))
    wait_for_entries(fleet, "main", 1)

    sleeper.pause()
    eventually(lambda: fleet.run(queued.run).state is RunState.QUEUED, within=20)
    sleeper.resume()
    eventually(lambda: fleet.count("tool") == 1, within=20)
    fleet.worker()
    # The tool runs until the turn has its next owner, so that it cannot end under the first one.
    eventually(lambda: len(fleet.run(queued.run).attempts) == 2, within=20)
    (fleet.workspace / "go").touch()
    outcome = fleet.outcome(queued)

    assert (outcome.text, fleet.count("tool")) == ("done", 1)
    assert [entry.is_error for entry in fleet.transcript() if isinstance(entry, ToolResultEntry)] == [False]
    assert outcome.run is not None
    assert [attempt.how for attempt in outcome.run.attempts] == ["taken", "takeover"]
    assert sleeper.fenced() == 1
    check(fleet.stores, [queued], one_each=True)
