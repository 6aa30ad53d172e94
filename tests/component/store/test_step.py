"""Journalling a step: fenced, once per number, and the one moment at which steering lands."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.turn_records import Taken
from tests.component.store.harness import SESSION, StoreHarness, texts, took

SAID = AssistantEntry(content=[TextBlock(text="thinking aloud")])


@pytest.fixture
def taken(store: StoreHarness) -> Taken:
    store.say("begin")
    return store.take("w1")


def test_a_step_appends_its_entries_marks_the_call_and_counts_tokens(store: StoreHarness, taken: Taken) -> None:
    store.turns().step(
        taken.lease,
        1,
        [SAID],
        starting="call-1",
        calls=took(taken.lease, Usage(input=5, output=2, cache_read=1)),
        events=[{"type": "text.delta", "data": {"text": "thinking aloud"}}],
    )

    assert [entry.role for entry in store.log()] == ["user", "assistant"]
    assert (store.ctl("step"), store.ctl("started"), store.ctl("progress")) == ("1", "call-1", "1")
    assert store.run(taken.lease.run).usage == Usage(input=5, output=2, cache_read=1)
    assert store.events()[-1] == "text.delta"
    store.crash()
    resumed = store.take("w2")
    assert (resumed.step, resumed.started_call, resumed.log_length) == (1, "call-1", 2)


def test_a_repeated_step_is_written_once_and_gets_the_first_answer(store: StoreHarness, taken: Taken) -> None:
    store.say("join in", mode=QueueMode.STEER)
    usage = Usage(input=5)
    first = store.turns().step(taken.lease, 1, [SAID], may_steer=True, calls=took(taken.lease, usage))
    store.say("too late", mode=QueueMode.STEER)

    again = store.turns().step(taken.lease, 1, [SAID], may_steer=True, calls=took(taken.lease, usage))

    assert again == first
    assert [entry["messageIds"] for entry in again[1]] == [["join in"]]
    assert [entry.role for entry in store.log()] == ["user", "assistant", "user"]
    assert store.run(taken.lease.run).usage == usage
    assert store.waiting() == ["too late"]


def test_a_worker_that_lost_the_session_cannot_write(store: StoreHarness, taken: Taken) -> None:
    store.crash()
    for _ in range(2):
        with pytest.raises(LeaseLost):
            store.turns("w1").step(taken.lease, 1, [SAID])
        with pytest.raises(LeaseLost):
            store.turns("w1").emit(taken.lease, [{"type": "text.delta", "data": {}}])
        # The second time round somebody owns it again.
        store.try_take("w2")

    assert [entry.role for entry in store.log()] == ["user"]
    assert "text.delta" not in store.events()


def test_a_steered_message_joins_the_turn_and_is_bound_to_it(store: StoreHarness, taken: Taken) -> None:
    store.say("wait, use the other file", mode=QueueMode.STEER, id="m2")

    abort, steered = store.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert abort == ""
    assert [entry["content"][0]["text"] for entry in steered] == ["wait, use the other file"]
    assert (store.bound(), store.waiting()) == (["begin", "m2"], [])
    assert store.receipt("m2").run == taken.lease.run
    assert store.users()[-1].provenance == "steer"
    assert "run.steered" in store.events()
    assert store.commit(taken).next_run is None
    assert store.states("begin", "m2") == ["answered", "answered"]
    assert store.run(taken.lease.run).covers == ["begin", "m2"]


def test_many_steered_messages_join_in_their_order_over_several_steps(store: StoreHarness, taken: Taken) -> None:
    sent = [f"steer {number}" for number in range(60)]
    for text in sent:
        store.say(text, mode=QueueMode.STEER, cap=100)

    joined = [store.turns().step(taken.lease, step, [SAID], may_steer=True)[1] for step in (1, 2, 3)]

    assert [len(each) for each in joined] == [25, 25, 10]
    assert [entry["content"][0]["text"] for each in joined for entry in each] == sent
    assert store.waiting() == []


def test_steering_waits_for_a_step_before_a_model_call(store: StoreHarness, taken: Taken) -> None:
    store.say("join", mode=QueueMode.STEER)

    assert store.turns().step(taken.lease, 1, [SAID], may_steer=False) == ("", [])
    assert store.waiting() == ["join"]


def test_a_steered_message_that_came_too_late_gets_a_turn_of_its_own(store: StoreHarness, taken: Taken) -> None:
    store.say("late", mode=QueueMode.STEER)

    following = store.commit(taken).next_run

    assert following is not None
    assert store.take(run=following).lease.run == following
    assert store.bound() == ["late"]


def test_only_steering_modes_join(store: StoreHarness, taken: Taken) -> None:
    store.say("collect", mode=QueueMode.COLLECT)
    store.say("followup", mode=QueueMode.FOLLOWUP)
    store.say("steer", mode=QueueMode.STEER)

    store.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert store.bound() == ["begin", "steer"]
    assert store.waiting() == ["collect", "followup"]


@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.STEER_BACKLOG])
def test_a_message_with_terms_of_its_own_waits_for_its_own_turn(
    store: StoreHarness, taken: Taken, mode: QueueMode
) -> None:
    store.say("by another", mode=mode, model="wire/other")
    store.say("in Latin", mode=mode, system="Answer in Latin.")
    store.say("steer", mode=QueueMode.STEER)

    store.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert store.bound() == ["begin", "steer"]
    assert store.waiting() == ["by another", "in Latin"]
    assert [texts(entry) for entry in store.users()] == [["begin"], ["steer"]]
    store.commit(taken)
    following = store.take()
    store.say("by the same", mode=QueueMode.STEER, model="wire/other")
    store.turns().step(following.lease, 1, [SAID], may_steer=True)
    assert store.bound() == ["by another", "by the same"]


def test_nothing_is_steered_from_behind_a_waiting_command(store: StoreHarness, taken: Taken) -> None:
    store.say("before", mode=QueueMode.STEER)
    store.say("/new", kind="command", mode=QueueMode.STEER)
    store.say("after", mode=QueueMode.STEER)

    store.turns().step(taken.lease, 1, [SAID], may_steer=True)

    assert store.bound() == ["begin", "before"]
    assert store.waiting() == ["/new", "after"]


def test_steer_backlog_is_shown_once_and_answered_by_a_turn_of_its_own(store: StoreHarness, taken: Taken) -> None:
    store.say("also", mode=QueueMode.STEER_BACKLOG)
    turns = store.turns()

    _, shown = turns.step(taken.lease, 1, [SAID], may_steer=True)
    _, again = turns.step(taken.lease, 2, [SAID], may_steer=True)

    assert [entry["provenance"] for entry in shown] == ["steer-backlog"]
    assert again == []
    assert (store.bound(), store.waiting()) == (["begin"], ["also"])
    store.commit(taken)
    assert store.states("begin", "also") == ["answered", "accepted"]
    store.commit(store.take())
    assert store.states("also") == ["answered"]
    assert [texts(entry) for entry in store.users()] == [["begin"], ["also"], ["also"]]


def test_looking_for_steering_in_vain_is_no_progress(store: StoreHarness, taken: Taken) -> None:
    """Rule 5: else a turn that kills its workers would be tried more often while a command waits behind it."""
    store.say("/new", kind="command", mode=QueueMode.STEER)
    store.say("after", mode=QueueMode.STEER)

    store.turns().step(taken.lease, 1, [], may_steer=True)
    store.crash()

    resumed = store.take("w2")
    assert (resumed.step, resumed.attempt, resumed.steering_waits) == (1, 2, True)


@pytest.mark.parametrize("how", ["an entry", "a steered message", "a call that starts"])
def test_whatever_a_step_writes_is_progress(store: StoreHarness, taken: Taken, how: str) -> None:
    if how == "a steered message":
        store.say("join in", mode=QueueMode.STEER)

    entries, starting = [SAID] if how == "an entry" else [], "call-1" if how == "a call that starts" else ""
    store.turns().step(taken.lease, 1, entries, starting=starting, may_steer=not starting)
    store.crash()

    assert store.take("w2").attempt == 1


def test_a_stop_reaches_the_run_it_names_and_stays(store: StoreHarness, taken: Taken) -> None:
    store.say("join", mode=QueueMode.STEER)
    store.stop(run=taken.lease.run, with_waiting=False)

    turns = store.turns()
    assert turns.step(taken.lease, 1, [SAID], may_steer=True) == ("killed", [])
    assert turns.step(taken.lease, 2, [SAID], may_steer=True) == ("killed", [])
    assert store.waiting() == ["join"], "a run that ends takes no more messages with it"

    following = store.commit(taken).next_run
    after = store.take(run=following)
    assert after.abort == ""
    assert turns.step(after.lease, 1, [SAID])[0] == ""


def test_events_that_have_expired_are_followed_by_new_ones_as_long_as_the_session_exists(
    store: StoreHarness, taken: Taken
) -> None:
    store.redis.delete(store.keys.events(SESSION))
    store.turns().step(taken.lease, 1, [SAID], events=[{"type": "text.delta", "data": {}}])
    assert store.events() == ["text.delta"]

    store.redis.delete(store.keys.events(SESSION), store.keys.ctl(SESSION))
    with pytest.raises(LeaseLost):
        store.turns().emit(taken.lease, [{"type": "text.delta", "data": {}}])
    assert not store.redis.exists(store.keys.events(SESSION))


def test_events_are_numbered_without_a_gap(store: StoreHarness, taken: Taken) -> None:
    for step in (1, 2):
        store.turns().step(taken.lease, step, [], events=[{"type": "text.delta", "data": {"text": "x"}}] * 2)
    store.commit(taken)

    numbers = [event.seq for event in store.reader.events(SESSION, "0")]
    assert numbers == list(range(1, len(numbers) + 1))
