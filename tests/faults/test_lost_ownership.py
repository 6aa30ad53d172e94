"""Turns that lose their owner, or are stopped, steered or reset at awkward moments (I1, I2, rules 6, 10, 11)."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import AssistantEntry, NoticeEntry, UserEntry
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate
from tests.support.programs import call, mark, program, say, write
from tests.support.waiting import eventually


def test_a_worker_paused_during_its_last_attempt_cannot_answer_after_the_run_failed(make_fleet: MakeFleet) -> None:
    """I1, rule 6: the sweep replaces the lease when it fails a run, so the failure is the only outcome."""
    fleet = make_fleet({"engine": {"leaseSeconds": 1.0, "maxAttempts": 1}})
    sleeper = fleet.worker(ignores_ticks=True)
    sent = [fleet.send(program(say("too late", delay_ms=1_000)), f"s{n}") for n in range(3)]
    eventually(lambda: len(fleet.stores.reader.running()) == 3, within=20)
    sleeper.pause()
    fleet.worker()

    failed = fleet.outcomes(sent)
    sleeper.resume()
    eventually(lambda: sleeper.finished() == 3, within=20)

    for queued, before in zip(sent, failed, strict=True):
        after = fleet.outcome(queued)
        assert before.run is not None
        assert after.run is not None
        # It reports the real usage of its call in place of the estimate; nothing else changes.
        assert replace(after, run=after.run.model_copy(update={"usage": before.run.usage})) == before
        assert after.receipt.state is MessageState.FAILED
        assert (after.run.state, after.run.reason) == (RunState.ERROR, "lost")
        roles = [type(entry) for entry in fleet.stores.reader.transcript(queued.session_key)]
        assert roles == [UserEntry, NoticeEntry]
    assert sleeper.fenced() == 3
    check(fleet.stores, sent)


def test_a_stop_during_a_handover_ends_that_turn_and_no_later_one(fleet: Fleet) -> None:
    """I1, rule 11: the stop names a run. Its next owner ends it, and the run after it is not affected."""
    leaving = fleet.worker()
    stopped = fleet.send(program(call(mark("first"), delay_ms=1_000), call(mark("second")), say("never")))
    fleet.carrier()
    leaving.term()
    assert leaving.wait() == 0
    assert fleet.run(stopped.run).state is RunState.QUEUED

    assert stopped.run is not None
    assert fleet.control.stop_run(stopped.run).begun
    later = fleet.send(program(call(mark("later")), say("as usual")))
    fleet.worker()
    outcome, following = fleet.outcomes([stopped, later])

    assert outcome.receipt.state is MessageState.CANCELLED
    assert fleet.run(stopped.run).state is RunState.KILLED
    assert (fleet.count("first"), fleet.count("second")) == (0, 0)
    assert following.text == "as usual"
    check(fleet.stores, [stopped, later])


def test_a_stop_around_a_commit_ends_the_named_run_or_nothing(make_fleet: MakeFleet) -> None:
    """I1, rule 11: whether stop or commit is first, the next run of the session is not affected."""
    fleet = make_fleet({"engine": {"leaseSeconds": 1.0}})
    fleet.worker(concurrency=32)
    chance = random.Random(12)
    delays_ms = [chance.randint(1_000, 2_000) for _ in range(30)]
    named = [fleet.send(program(say("named", delay_ms=delay)), f"s{n}") for n, delay in enumerate(delays_ms)]
    following = [fleet.send(program(say("next", delay_ms=300)), f"s{n}") for n in range(30)]
    begun = [eventually(lambda run=queued.run: fleet.run(run).started_at, within=20) for queued in named]  # type: ignore[misc]
    # Each stop arrives shortly before or after its turn commits.
    moments = [at + delay + chance.randint(-400, 800) for at, delay in zip(begun, delays_ms, strict=True)]
    for moment, queued in sorted(zip(moments, named, strict=True), key=lambda each: each[0]):
        time.sleep(max(0.0, moment / 1000 - time.time()))
        assert queued.run is not None
        fleet.control.stop_run(queued.run)

    ends = {outcome.receipt.state for outcome in fleet.outcomes(named)}
    for queued in named:
        assert queued.run is not None
        assert fleet.control.stop_run(queued.run).run is None

    assert ends == {MessageState.ANSWERED, MessageState.CANCELLED}
    assert [outcome.text for outcome in fleet.outcomes(following)] == ["next"] * 30
    check(fleet.stores, named + following)


def test_a_stop_just_after_a_commit_does_not_end_the_next_turn_before_it_starts(fleet: Fleet) -> None:
    """I1, rule 11: a stop ends a turn that has not started at once, so only the name in the stop protects it."""
    fleet.worker(concurrency=1)
    gate = Gate(fleet, "holder")
    named = fleet.send(program(say("named", delay_ms=500)))
    holder = fleet.send(program(gate.step, say("held")), "holder")
    following = fleet.send(program(say("next")))
    assert fleet.outcome(named).text == "named"
    # The one thread continues with the session that was first.
    eventually(lambda: len(fleet.transcript("holder")) == 2, within=20)

    assert named.run is not None
    assert fleet.control.stop_run(named.run).run is None
    assert fleet.receipt(following).state is MessageState.ACCEPTED
    gate.open()

    assert [outcome.text for outcome in fleet.outcomes([following, holder])] == ["next", "held"]
    check(fleet.stores, [named, holder, following], one_each=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_message_steered_around_a_commit_is_covered_by_exactly_one_turn(make_fleet: MakeFleet, workers: int) -> None:
    """I1, I2, I3, rule 10: it joins the running turn or opens the next one, never both and never neither."""
    fleet = make_fleet({"messages": {"queue": {"mode": "steer"}}})
    fleet.ready(*(fleet.worker(concurrency=16, wait=False) for _ in range(workers)))
    chance = random.Random(workers)
    sent: list[Queued] = []
    while len(sent) < 90 or not hit_both_cases(fleet):
        assert len(sent) < 900, f"steering did not hit both cases: {[len(run.covers) for run in fleet.runs()]}"
        session = f"s{len(sent) // 3}"
        first_ms, second_ms = chance.randint(0, 30), chance.randint(0, 30)
        turn = program(call(write(session, "a"), delay_ms=first_ms), say("done", delay_ms=second_ms))
        for message in (turn, "and this", "and that"):
            sent.append(fleet.send(message, session))
            time.sleep(chance.uniform(0, 0.05))  # to arrive at every point before and after the commit
    outcomes = fleet.outcomes(sent)

    assert {outcome.receipt.state for outcome in outcomes} == {MessageState.ANSWERED}
    check(fleet.stores, sent)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
@pytest.mark.parametrize("how", ["kill", "term"])
def test_the_next_owner_of_a_turn_reads_a_message_steered_into_it(make_fleet: MakeFleet, how: str, pool: str) -> None:
    """I1, rule 10: the new owner makes the next model call, and steered messages enter before it."""
    fleet = make_fleet({"messages": {"queue": {"mode": "steer"}}, "engine": {"graceSeconds": 4.0}})
    leaving = fleet.worker(pool=pool)
    sent = [fleet.send(program(say("never", delay_ms=120_000)))]
    assert fleet.carrier() is leaving
    sent.append(fleet.send(program(say("hurried"))))

    leaving.kill() if how == "kill" else leaving.term()
    leaving.wait()
    fleet.worker(pool=pool)
    first, second = fleet.outcomes(sent)

    assert (first.text, second.text) == ("hurried", "hurried")
    assert first.receipt.run == second.receipt.run == sent[0].run
    assert first.run is not None
    assert [attempt.how for attempt in first.run.attempts] == ["taken", "takeover" if how == "kill" else "handover"]
    question, steered, answer = fleet.transcript()
    assert isinstance(question, UserEntry)
    assert isinstance(steered, UserEntry)
    assert (steered.provenance, steered.message_ids) == ("steer", [sent[1].message_id])
    assert isinstance(answer, AssistantEntry)
    check(fleet.stores, sent)


def test_a_turn_handed_over_after_a_tool_keeps_its_steered_messages(make_fleet: MakeFleet) -> None:
    """I1, I5, rule 10: recording the tool's result is the last step of an owner that shuts down."""
    fleet = make_fleet({"messages": {"queue": {"mode": "steer"}}, "engine": {"graceSeconds": 20.0}})
    leaving = fleet.worker()
    hold = "until test -e go; do sleep 0.02; done"
    sent = [fleet.send(program(call(mark("tool", then=hold)), say("never", delay_ms=120_000)))]
    eventually(lambda: fleet.count("tool") == 1, within=20)
    sent.append(fleet.send(program(say("hurried"))))

    leaving.term()
    eventually(lambda: "worker.leaving" in leaving.log_text(), within=10)
    (fleet.workspace / "go").touch()
    leaving.wait()
    fleet.worker()
    first, second = fleet.outcomes(sent)

    assert (first.text, second.text, fleet.count("tool")) == ("hurried", "hurried", 1)
    assert first.run is not None
    assert [attempt.how for attempt in first.run.attempts] == ["taken", "handover"]
    assert [entry.role for entry in fleet.transcript()] == ["user", "assistant", "toolResult", "user", "assistant"]
    check(fleet.stores, sent)


def hit_both_cases(fleet: Fleet) -> bool:
    """Some messages joined a running turn, and some came too late for it."""
    return {1, 2} <= {len(run.covers) for run in fleet.runs() if run.state is RunState.OK}


def test_a_turn_reset_during_a_tool_writes_nothing_into_the_new_transcript(fleet: Fleet) -> None:
    """I2, rule 6: the reset ends the lease, so the tool's result is refused."""
    names = [f"s{n}" for n in range(6)]
    worker = fleet.worker(concurrency=16, ignores_ticks=True)
    hold = "until test -e go; do sleep 0.02; done"
    old = [fleet.send(program(call(mark(name, then=hold)), say("old answer")), name) for name in names]
    eventually(lambda: all(fleet.count(name) == 1 for name in names), within=20)

    for name in names:
        fleet.control.reset(session_key(name))
    # When the old tool ends, half of the sessions are in a new turn and half are idle.
    new = [fleet.send(program(say("new answer", delay_ms=1_000)), name) for name in names[:3]]
    eventually(lambda: len(fleet.stores.reader.running()) == 3, within=20)
    (fleet.workspace / "go").touch()
    eventually(lambda: worker.finished() >= len(names), within=20)
    new += [fleet.send(program(say("new answer")), name) for name in names[3:]]

    assert {outcome.receipt.state for outcome in fleet.outcomes(old)} == {MessageState.CANCELLED}
    assert [outcome.text for outcome in fleet.outcomes(new)] == ["new answer"] * len(names)
    for queued in new:
        question, answer = fleet.stores.reader.transcript(queued.session_key)
        assert isinstance(question, UserEntry)
        assert question.message_ids == [queued.message_id]
        assert isinstance(answer, AssistantEntry)
        assert answer.text == "new answer"
    check(fleet.stores, new, one_each=True)
