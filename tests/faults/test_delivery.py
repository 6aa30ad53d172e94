"""Wake-ups that arrive twice, late or never: a Celery message affects only when a turn runs (I1, I2, I5)."""

from __future__ import annotations

from tests.support.checker import check
from tests.support.fleet import Fleet, WorkerProcess
from tests.support.programs import call, mark, program, say
from tests.support.waiting import eventually


def skipped(worker: WorkerProcess, why: str = "") -> int:
    """How many deliveries found nothing to do."""
    return sum("run.skipped" in line and f"why={why}" in line for line in worker.log_text().splitlines())


def test_a_wake_up_delivered_three_times_runs_one_turn(fleet: Fleet) -> None:
    """I1, I2, I5: one owner, one tool run, one answer, whether the copies arrive before, during or after the turn."""
    turn = program(call(mark("tool"), delay_ms=800), say("once", delay_ms=800))
    sent = [fleet.send(turn, f"s{n}") for n in range(4)]

    def deliver_twice_more() -> None:
        for queued in sent:
            assert queued.run is not None
            for _ in range(2):
                fleet.waker.turn(queued.session_key, queued.run)

    deliver_twice_more()
    worker = fleet.worker(concurrency=16, loglevel="DEBUG")
    eventually(lambda: len(fleet.stores.reader.running()) == 4, within=20)
    deliver_twice_more()
    outcomes = fleet.outcomes(sent)
    assert fleet.count("tool") == 4
    assert [len(run.attempts) for run in fleet.runs()] == [1] * 4
    deliver_twice_more()
    eventually(lambda: skipped(worker) == 24, within=20)
    following = [fleet.send(program(say("next", delay_ms=800)), f"s{n}") for n in range(4)]
    eventually(lambda: len(fleet.stores.reader.running()) == 4, within=20)
    deliver_twice_more()

    assert [outcome.text for outcome in outcomes + fleet.outcomes(following)] == ["once"] * 4 + ["next"] * 4
    eventually(lambda: skipped(worker) == 32, within=20)
    assert min(skipped(worker, "held"), skipped(worker, "idle"), skipped(worker, "stale")) > 0
    assert fleet.count("tool") == 4
    assert [len(run.attempts) for run in fleet.runs()] == [1] * 8
    check(fleet.stores, sent + following, one_each=True)


def test_a_late_wake_up_of_an_ended_run_does_not_start_the_next_run(fleet: Fleet) -> None:
    """I1: it names another run. If it started the next turn, that turn would be written into the wrong record."""
    worker = fleet.worker(loglevel="DEBUG")
    ended = [fleet.send(program(say("first")), f"s{n}") for n in range(4)]
    before = [fleet.outcome(queued).run for queued in ended]

    # Only the old wake-ups are in the queue. Those of the new runs are lost, and the sweep replaces them later.
    waiting = [fleet.send(program(say("second")), f"s{n}", lose_wake_up=True) for n in range(4)]
    for queued in ended:
        assert queued.run is not None
        fleet.waker.turn(queued.session_key, queued.run)
    outcomes = fleet.outcomes(waiting)

    assert [outcome.text for outcome in outcomes] == ["second"] * 4
    assert [outcome.receipt.run for outcome in outcomes] == [queued.run for queued in waiting]
    assert [fleet.run(queued.run) for queued in ended] == before
    assert skipped(worker, "stale") > 0
    check(fleet.stores, ended + waiting, one_each=True)


def test_the_sweep_replaces_a_wake_up_deleted_from_the_broker(fleet: Fleet) -> None:
    """I1, I8: an accepted message is answered even if the queue has lost its wake-up."""
    sent = [fleet.send(program(say(f"answer {n}")), f"s{n}") for n in range(4)]
    assert fleet.stores.redis.delete(fleet.queue_key) == 1
    fleet.worker()

    assert [outcome.text for outcome in fleet.outcomes(sent)] == [f"answer {n}" for n in range(4)]
    unpublished = fleet.send(program(say("never published")), "s0", lose_wake_up=True)
    assert fleet.outcome(unpublished).text == "never published"
    check(fleet.stores, [*sent, unpublished], one_each=True)
