"""Journalling a step: fenced, once per number, and the one moment at which steering lands."""

from __future__ import annotations

import pytest

from openclaw_workers.errors import LeaseLost
from openclaw_workers.models.messages import QueueMode
from openclaw_workers.models.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.store.turns import Taken
from tests.unit.store.desk import SESSION, Desk, texts, took

SAID = AssistantEntry(content=[TextBlock(text="thinking aloud")])


@pytest.fixture
def taken(desk: Desk) -> Taken:
    desk.say("begin")
    return desk.take("w1")


def test_a_step_appends_its_entries_marks_the_call_and_counts_tokens(desk: Desk, taken: Taken) -> None:
    desk.turns().step(
        taken.lease,
        1,
        [SAID],
        starting="call-1",
        books=took(taken.lease, Usage(input=5, output=2, cache_read=1)),
        events=[{"type": "text.delta", "data": {"text": "thinking aloud"}}],
    )

    assert [entry.role for entry in desk.log()] == ["user", "assistant"]
    assert (desk.ctl("step"), desk.ctl("started"), desk.ctl("progress")) == ("1", "call-1", "1")
    assert desk.run(taken.lease.run).usage == Usage(input=5, output=2, cache_read=1)
    assert desk.events()[-1] == "text.delta"
    desk.crash()
    resumed = desk.take("w2")
    assert (resumed.step, resumed.started_call, resumed.log_length) == (1, "call-1", 2)


def test_a_repeated_step_is_written_once_and_gets_the_first_answer(desk: Desk, taken: Taken) -> None:
    desk.say("join in", mode=QueueMode.STEER)
    usage = Usage(input=5)
    first = desk.turns().step(taken.lease, 1, [SAID], may_steer=True, books=took(taken.lease, usage))
    desk.say("too late", mode=QueueMode.STEER)

    again = desk.turns().step(taken.lease, 1, [SAID], may_steer=True, books=took(taken.lease, usage))

    assert again == first
    assert [entry["messageIds"] for entry in again[1]] == [["join in"]]
    assert [entry.role for entry in desk.log()] == ["user", "assistant", "user"]
    assert desk.run(taken.lease.run).usage == usage
    assert desk.waiting() == ["too late"]


def test_a_worker_that_lost_the_session_cannot_write(desk: Desk, taken: Taken) -> None:
    desk.crash()
    for _ in range(2):
        with pytest.raises(LeaseLost):
            desk.turns("w1").step(taken.lease, 1, [SAID])
        with pytest.raises(LeaseLost):
            desk.turns("w1").emit(taken.lease, [{"type": "text.delta", "data": {}}])
        # The second time round somebody owns it again.
        desk.try_take("w2")

    assert [entry.role for entry in desk.log()] == ["user"]
    assert "text.delta" not in desk.events()


def test_a_steered_message_joins_the_turn_and_is_bound_to_it(desk: Desk, taken: Taken) -> None:
    desk.say("wait, use the other file", mode=QueueMode.STEER, id="m2")

    abort, steered = desk.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert abort == ""
    assert [entry["content"][0]["text"] for entry in steered] == ["wait, use the other file"]
    assert (desk.bound(), desk.waiting()) == (["begin", "m2"], [])
    assert desk.receipt("m2").run == taken.lease.run
    assert desk.users()[-1].provenance == "steer"
    assert "run.steered" in desk.events()
    assert desk.commit(taken).next_run is None
    assert desk.states("begin", "m2") == ["answered", "answered"]
    assert desk.run(taken.lease.run).covers == ["begin", "m2"]


def test_steering_waits_for_a_step_before_a_model_call(desk: Desk, taken: Taken) -> None:
    desk.say("join", mode=QueueMode.STEER)

    assert desk.turns().step(taken.lease, 1, [SAID], may_steer=False) == ("", [])
    assert desk.waiting() == ["join"]


def test_a_steered_message_that_came_too_late_gets_a_turn_of_its_own(desk: Desk, taken: Taken) -> None:
    desk.say("late", mode=QueueMode.STEER)

    following = desk.commit(taken).next_run

    assert following is not None
    assert desk.take(run=following).lease.run == following
    assert desk.bound() == ["late"]


def test_only_steering_modes_join(desk: Desk, taken: Taken) -> None:
    desk.say("collect", mode=QueueMode.COLLECT)
    desk.say("followup", mode=QueueMode.FOLLOWUP)
    desk.say("steer", mode=QueueMode.STEER)

    desk.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert desk.bound() == ["begin", "steer"]
    assert desk.waiting() == ["collect", "followup"]


@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.STEER_BACKLOG])
def test_a_message_with_terms_of_its_own_waits_for_its_own_turn(desk: Desk, taken: Taken, mode: QueueMode) -> None:
    desk.say("by another", mode=mode, model="wire/other")
    desk.say("in Latin", mode=mode, system="Answer in Latin.")
    desk.say("steer", mode=QueueMode.STEER)

    desk.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert desk.bound() == ["begin", "steer"]
    assert desk.waiting() == ["by another", "in Latin"]
    assert [texts(entry) for entry in desk.users()] == [["begin"], ["steer"]]
    desk.commit(taken)
    following = desk.take()
    desk.say("by the same", mode=QueueMode.STEER, model="wire/other")
    desk.turns().step(following.lease, 1, [SAID], may_steer=True)
    assert desk.bound() == ["by another", "by the same"]


def test_nothing_is_steered_from_behind_a_waiting_command(desk: Desk, taken: Taken) -> None:
    desk.say("before", mode=QueueMode.STEER)
    desk.say("/new", kind="command", mode=QueueMode.STEER)
    desk.say("after", mode=QueueMode.STEER)

    desk.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert desk.bound() == ["begin", "before"]
    assert desk.waiting() == ["/new", "after"]


def test_steer_backlog_is_shown_once_and_answered_by_a_turn_of_its_own(desk: Desk, taken: Taken) -> None:
    desk.say("also", mode=QueueMode.STEER_BACKLOG)
    turns = desk.turns()

    _, shown = turns.step(taken.lease, 1, [SAID], may_steer=True)
    _, again = turns.step(taken.lease, 2, [SAID], may_steer=True)

    assert [entry["provenance"] for entry in shown] == ["steer-backlog"]
    assert again == []
    assert (desk.bound(), desk.waiting()) == (["begin"], ["also"])
    desk.commit(taken)
    assert desk.states("begin", "also") == ["answered", "accepted"]
    desk.commit(desk.take())
    assert desk.states("also") == ["answered"]
    assert [texts(entry) for entry in desk.users()] == [["begin"], ["also"], ["also"]]


def test_looking_for_steering_in_vain_is_no_progress(desk: Desk, taken: Taken) -> None:
    """Rule 5: else a turn that kills its workers would be tried more often while a command waits behind it."""
    desk.say("/new", kind="command", mode=QueueMode.STEER)
    desk.say("after", mode=QueueMode.STEER)

    desk.turns().step(taken.lease, 1, [], may_steer=True)
    desk.crash()

    resumed = desk.take("w2")
    assert (resumed.step, resumed.attempt, resumed.steering_waits) == (1, 2, True)


@pytest.mark.parametrize("how", ["an entry", "a steered message", "a call that starts"])
def test_whatever_a_step_writes_is_progress(desk: Desk, taken: Taken, how: str) -> None:
    if how == "a steered message":
        desk.say("join in", mode=QueueMode.STEER)

    entries, starting = [SAID] if how == "an entry" else [], "call-1" if how == "a call that starts" else ""
    desk.turns().step(taken.lease, 1, entries, starting=starting, may_steer=not starting)
    desk.crash()

    assert desk.take("w2").attempt == 1


def test_a_stop_is_told_to_the_run_it_names_and_stays_told(desk: Desk, taken: Taken) -> None:
    desk.say("join", mode=QueueMode.STEER)
    desk.stop(run=taken.lease.run, with_waiting=False)

    turns = desk.turns()
    assert turns.step(taken.lease, 1, [SAID], may_steer=True) == ("killed", [])
    assert turns.step(taken.lease, 2, [SAID], may_steer=True) == ("killed", [])
    assert desk.waiting() == ["join"], "a run that ends takes no more messages with it"

    following = desk.commit(taken).next_run
    after = desk.take(run=following)
    assert after.abort == ""
    assert turns.step(after.lease, 1, [SAID])[0] == ""


def test_an_event_stream_that_is_gone_is_not_made_again(desk: Desk, taken: Taken) -> None:
    desk.redis.delete(desk.keys.events(SESSION))

    desk.turns().step(taken.lease, 1, [SAID], events=[{"type": "text.delta", "data": {}}])
    desk.turns().emit(taken.lease, [{"type": "text.delta", "data": {}}])
    desk.commit(taken)

    assert not desk.redis.exists(desk.keys.events(SESSION))


def test_events_are_numbered_without_a_gap(desk: Desk, taken: Taken) -> None:
    for step in (1, 2):
        desk.turns().step(taken.lease, step, [], events=[{"type": "text.delta", "data": {"text": "x"}}] * 2)
    desk.commit(taken)

    numbers = [event.seq for event in desk.reader.events(SESSION, "0")]
    assert numbers == list(range(1, len(numbers) + 1))
