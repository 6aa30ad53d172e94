"""Turns that kill their worker fail visibly after a few tries, and their neighbours do not (I1, I8, rule 5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Run, RunState
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.faulty_workers import faulty
from tests.support.fleet import Fleet, Outcome
from tests.support.programs import call, crash, mark, program, say, write
from tests.support.waiting import eventually

QUICK = {"engine": {"leaseSeconds": 1.0}}


def settled_run(outcome: Outcome) -> Run:
    assert outcome.run is not None
    return outcome.run


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_turn_that_kills_its_worker_fails_visibly_after_three_tries(make_fleet: MakeFleet, pool: str) -> None:
    """I1: three owners, one visible failure, and the session continues with the next message."""
    fleet = make_fleet(QUICK)
    fleet.ready(*(fleet.worker(pool=pool, concurrency=2, respawn=True, wait=False) for _ in range(2)))
    poison = fleet.send(program(crash(text="half a sentence")))
    following = fleet.send(program(say("still here")))

    outcome, after = fleet.outcomes([poison, following])

    run = settled_run(outcome)
    assert outcome.receipt.state is MessageState.FAILED
    assert (run.state, run.reason) == (RunState.ERROR, "lost")
    assert run.error is not None
    assert "given up" in run.error
    ended = [event for event in fleet.events(kind="run.ended") if event.data["run"] == run.id]
    assert [event.data["error"] for event in ended] == [run.error]
    assert after.text == "still here"
    assert [attempt.how for attempt in run.attempts] == ["taken", "takeover", "takeover"]
    check(fleet.stores, [poison, following], one_each=True)


def test_a_poison_turn_among_fifty_others_in_its_process_fails_alone(make_fleet: MakeFleet, tmp_path: Path) -> None:
    """I1, rule 5: at first, all turns without a journal entry are suspects; later, only the poison turn is."""
    fleet = make_fleet(QUICK)
    worker = fleet.worker(concurrency=64, respawn=True, **faulty(gates=tmp_path))
    writing = [fleet.send(program(call(write(f"{n}.txt", "x")), say("gate open")), f"writing-{n}") for n in range(50)]
    silent = [fleet.send(program(say("gate silent")), f"silent-{n}") for n in range(10)]
    poison = fleet.send(program(crash(text="gate crash")), "poison")

    # First crash: fifty turns have written a file, ten more have journalled nothing.
    eventually(lambda: all(len(fleet.transcript(f"writing-{n}")) >= 3 for n in range(50)), within=20)
    eventually(lambda: at_work(fleet, [*writing, *silent, poison], owners=1), within=20)
    assert fleet.carries(worker) == 61
    (tmp_path / "crash").touch()
    eventually(lambda: worker.respawns == 1, within=20)
    # Second crash, now as the only suspect among the fifty. The ten run one by one, before or after it.
    (tmp_path / "silent").touch()
    eventually(lambda: at_work(fleet, [*writing, poison], owners=2), within=40)
    assert fleet.carries(worker) == 51
    assert {fleet.run(sent.run).attempt for sent in writing if sent.run} == {1}
    (tmp_path / "crash").touch()
    eventually(lambda: worker.respawns == 2, within=20)
    # After two lost workers the fifty also run one at a time, so the third crash hits no other turn.
    (tmp_path / "open").touch()
    (tmp_path / "crash").touch()

    fine = fleet.outcomes(silent + writing)
    failed = settled_run(fleet.outcome(poison))

    assert {outcome.receipt.state for outcome in fine} == {MessageState.ANSWERED}
    assert {settled_run(outcome).attempt for outcome in fine[:10]} == {2}
    assert {settled_run(outcome).attempt for outcome in fine[10:]} == {1}
    assert (failed.state, failed.reason) == (RunState.ERROR, "lost")
    assert worker.respawns == len(failed.attempts) == 3
    check(fleet.stores, [*silent, *writing, poison], one_each=True)


def at_work(fleet: Fleet, sent: list[Queued], *, owners: int) -> bool:
    """Whether each of them is running under its n-th owner."""
    running = {run.id for run in fleet.runs() if run.state is RunState.RUNNING and len(run.attempts) == owners}
    return {queued.run for queued in sent} <= running


def test_twenty_rolling_restarts_count_as_no_attempt(make_fleet: MakeFleet) -> None:
    """I1, I3, I5, rule 5: workers hand turns over, also one whose model call is longer than every grace period."""
    fleet = make_fleet({"engine": {"graceSeconds": 2.0}})
    sent = [fleet.send(program(say("at last", delay_ms=4_000)), "slow")]
    handed = program(call(mark("tools"), delay_ms=200), call(mark("tools"), delay_ms=200), say("ok", delay_ms=200))
    for _ in range(3):
        fleet.worker(concurrency=16, wait=False)
    for restart in range(20):
        sent += [fleet.send(handed, f"s{n}") for n in range(6)]
        fleet.ready(*fleet.workers[restart : restart + 2])
        fleet.workers[restart].term()
        fleet.worker(concurrency=16, wait=False)

    outcomes = fleet.outcomes(sent)

    assert {outcome.receipt.state for outcome in outcomes} == {MessageState.ANSWERED}
    assert {run.attempt for run in fleet.runs()} == {1}
    assert {how for run in fleet.runs() for how in _hows(run)} == {"taken", "handover"}
    assert [worker.wait() for worker in fleet.workers[:20]] == [0] * 20
    assert fleet.count("tools") == 2 * 6 * 20
    check(fleet.stores, sent, one_each=True)


def _hows(run: Run) -> list[str]:
    return [attempt.how for attempt in run.attempts]
