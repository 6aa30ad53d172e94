"""A worker that sleeps past its leases and wakes up believing it still owns its turns (I1, I2, I5, rule 6)."""

from __future__ import annotations

import time

from openclaw_workers.models.messages import MessageState
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.programs import call, mark, program, say
from tests.support.waiting import eventually

LEASE_SECONDS = 1.0
SLOW_MS = 1_500

TURNS = {
    # The sleeper wakes to write an assistant message and run its tool, ...
    "before-tool": (program(call(mark("before-tool"), delay_ms=SLOW_MS), say("done")), 1),
    # ... a tool's result, ...
    "in-tool": (program(call(mark("in-tool", then="until test -e go; do sleep 0.02; done")), say("done")), 2),
    # ... or a final answer.
    "before-answer": (program(call(mark("before-answer")), say("done", delay_ms=SLOW_MS)), 3),
}
SESSIONS = [(f"{name}-{copy}", *turn) for name, turn in TURNS.items() for copy in range(3)]
"""Several of each, so that the late writes come from many threads at once."""


def test_a_worker_that_slept_past_three_leases_has_every_late_write_refused(make_fleet: MakeFleet) -> None:
    """I1, I2, I5: another worker finishes the turns; the sleeper adds no entry, no answer and runs no tool.

    Its ticker does not tell it, so each write is really tried.
    """
    fleet = make_fleet({"engine": {"leaseSeconds": LEASE_SECONDS}})
    sleeper = fleet.worker(concurrency=len(SESSIONS), deaf=True)
    sent = [fleet.send(turn, session) for session, turn, _ in SESSIONS]
    for session, _, journalled in SESSIONS:
        eventually(lambda s=session, j=journalled: len(fleet.transcript(s)) == j, within=20)  # type: ignore[misc]
    eventually(lambda: fleet.count("in-tool") == 3, within=20)

    sleeper.pause()
    paused = time.monotonic()
    fleet.worker(concurrency=len(SESSIONS))
    outcomes = fleet.outcomes(sent)
    eventually(lambda: time.monotonic() - paused > 3 * LEASE_SECONDS, within=30)
    finished = {session: fleet.transcript(session) for session, _, _ in SESSIONS}
    (fleet.workspace / "go").touch()
    sleeper.resume()
    eventually(lambda: sleeper.finished() == len(SESSIONS), within=20)

    assert {outcome.receipt.state for outcome in outcomes} == {MessageState.ANSWERED}
    assert {session: fleet.transcript(session) for session, _, _ in SESSIONS} == finished
    assert {name: fleet.count(name) for name in TURNS} == dict.fromkeys(TURNS, 3)
    assert sleeper.fenced() == len(SESSIONS)
    check(fleet.stores, sent, one_each=True)
