"""The scripts of the tree at their edges: what is parked, stopped, reset or deleted while something else moves."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.domain.ids import BatchId, MessageId, RunId
from openclaw_workers.domain.messages import MessageState, QueueMode
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.domain.tree import AnnounceMode, BatchState
from openclaw_workers.store.turn_records import Lease, Outcome, Taken, WaitFor
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import SESSION, StoreHarness, child_key

A, B, C = child_key("a"), child_key("b"), child_key("c")
ELSEWHERE = child_key("elsewhere")


def take_child(store: StoreHarness, name: str, **how: str) -> Taken:
    return store.take(session=child_key(name), run=how.get("run", f"run-{name}"))


def end_child(store: StoreHarness, name: str, *, state: RunState = RunState.OK, reason: str = "complete") -> str:
    return store.commit(take_child(store, name), text=name, state=state, reason=reason).how


def tree(
    store: StoreHarness, *, record: dict[str, str] | None = None, mode: AnnounceMode = AnnounceMode.BATCH
) -> Taken:
    """The root has ended its turn, its child `a` is at work and has spawned `b`."""
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a", record=record)
    store.commit(parent)
    child = take_child(store, "a")
    store.spawn(child, "b", batch="batch-2", mode=mode)
    return child


def park_in_a_call(store: StoreHarness, taken: Taken) -> None:
    """The run waits for another session's answer in the middle of its turn."""
    store.redis.hset(store.keys.waiters(ELSEWHERE), "m", taken.lease.session)
    woken, _ = store.turns().release(taken.lease, WaitFor(ELSEWHERE, MessageId("m"), 30_000))
    assert not woken


def test_a_run_that_waits_in_a_call_is_not_ended_by_a_batch_nobody_hears_of(store: StoreHarness) -> None:
    child = tree(store, mode=AnnounceMode.NONE)
    park_in_a_call(store, child)
    end_child(store, "b")

    announced = store.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.NONE, False)
    assert store.run("run-a").state is RunState.PARKED


def test_a_run_that_waits_in_a_call_and_wants_no_further_turn_is_not_ended_by_its_childs_end(
    store: StoreHarness,
) -> None:
    child = tree(store, record={"wake_on_descendant_settle": "0"})
    park_in_a_call(store, child)
    end_child(store, "b")

    announced = store.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.ATTACHED, False)
    assert store.run("run-a").state is RunState.PARKED


def test_a_parked_child_that_was_reset_ends_when_what_it_waited_for_is_over(store: StoreHarness) -> None:
    # Given a child that waits for its own, and whose session began a new generation in the same turn
    child = tree(store)
    assert store.commit(child, reset=True).how == "parked"
    end_child(store, "b")

    # When the results come, which its new generation did not ask for
    announced = store.announce("batch-2")

    # Then it waits no longer
    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.ARCHIVED, True)
    assert store.run("run-a").state is RunState.OK
    assert store.ctl("state", A) == "idle"


def test_a_result_nobody_was_to_hear_is_not_carried_up_when_its_parent_fails(store: StoreHarness) -> None:
    child = tree(store, mode=AnnounceMode.NONE)
    assert store.commit(child, state=RunState.ERROR, reason="error").how == "unsettled"
    end_child(store, "b")

    announced = store.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.NONE, True)


def test_a_stop_that_comes_during_the_last_word_is_not_parked_away(store: StoreHarness) -> None:
    # Given a child that was asked to stop after its last step, and says its last word all the same
    child = tree(store)
    assert store.stop(session=A).begun

    # When it would wait for its own child
    committed = store.commit(child)

    # Then it is woken to end instead
    assert (committed.how, committed.next_run) == ("again", "run-a")
    assert take_child(store, "a").abort == "killed"


def test_a_run_that_ends_with_no_message_says_so_with_an_empty_list(store: StoreHarness) -> None:
    store.commit(tree(store))

    assert not store.stop(session=A).begun

    (ended,) = [event for event in store.reader.events(A, "0") if event.type == "run.ended"]
    assert ended.data["covers"] == []


def test_a_stop_that_comes_before_the_park_in_a_call_wakes_the_run_at_once(store: StoreHarness) -> None:
    child = tree(store)
    store.redis.hset(store.keys.waiters(ELSEWHERE), "m", A)
    store.stop(session=A)

    woken, _ = store.turns().release(child.lease, WaitFor(ELSEWHERE, MessageId("m"), 30_000))

    assert woken
    assert take_child(store, "a").abort == "killed"


def test_a_run_parks_in_a_call_no_longer_than_it_may_live(store: StoreHarness) -> None:
    child = tree(store)
    store.redis.hset(store.keys.run("run-a"), "deadline_at", str(store.now() + 1_000))
    park_in_a_call(store, child)

    due = store.due_at(f"turn|{A}")
    assert due is not None
    assert due <= store.now() + 1_000


def test_a_child_that_waits_for_its_own_is_not_woken_with_nothing_to_say(store: StoreHarness) -> None:
    # Given a parked child with a due item that something else left behind
    child = tree(store)
    store.commit(child)
    store.redis.zadd(store.keys.due, {f"turn|{A}": 1})

    # Then a look at it puts it back to wait until its time is over
    assert store.rescue(A).verb == "wait"
    assert store.ctl("state", A) == "parked"
    assert store.due_at(f"turn|{A}") == store.run("run-a").deadline_at

    # And once that has come it is woken
    store.redis.hset(store.keys.run("run-a"), "deadline_at", str(store.now() - 1))
    assert store.rescue(A).verb == "wake"


def test_a_message_to_a_child_whose_parent_is_gone_brings_nothing_of_the_parent_back(store: StoreHarness) -> None:
    child = tree(store)
    store.commit(child)
    end_child(store, "b")
    store.announce("batch-2")
    end_child(store, "a")
    store.announce()
    store.sessions.delete(A, Lane.MAIN, cap=0)

    store.say("and now?", session=B, run="run-b2")

    assert store.redis.exists(store.keys.ctl(A), store.keys.live(A), store.keys.batches(A)) == 0
    assert store.commit(take_child(store, "b", run="run-b2")).how == "ended"
    assert not store.run("run-b2").is_child


def test_whose_children_were_whose_is_known_after_a_child_is_deleted(store: StoreHarness) -> None:
    child = tree(store)
    store.sessions.delete(child.lease.session, Lane.MAIN, cap=0)

    assert [run.id for run in store.tree.children(A)] == ["run-b"]
    assert store.redis.ttl(store.keys.children(A)) > 0


def test_an_order_to_stop_children_of_an_old_life_spares_those_of_the_next(store: StoreHarness) -> None:
    # Given a root that is deleted while its children work, and whose children nobody has stopped yet
    # (more of them than milliseconds pass: each has a place of its own)
    store.say("one")
    old = [f"old{n:02}" for n in range(50)]
    store.spawn(store.take(), *old, most_children=100, most_tree=100)
    store.sessions.delete(SESSION, Lane.MAIN, cap=0)

    # When a new session of the same name spawns
    store.say("two", run="run-two")
    store.spawn(store.take(), "c", batch="batch-3", most_children=100, most_tree=100)

    # Then the order reaches only the old ones
    order = store.tree.stop_order(SESSION)
    assert order is not None
    assert [run.id for run in store.tree.live(SESSION, order.upto)] == [f"run-{name}" for name in old]


def announce_waits_in_a_busy_root(store: StoreHarness) -> Taken:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    store.say("two", id="two", run="run-two")
    busy = store.take()
    end_child(store, "a")
    store.announce()
    assert store.waiting() == ["announce-batch-1"]
    return busy


def archived_texts(store: StoreHarness) -> list[str]:
    entries = [json.loads(raw) for raw in store.archive()[1]]
    return [entry["content"][0]["text"] for entry in entries if entry["role"] == "user"]


def test_results_that_wait_at_a_reset_join_the_transcript_that_asked_for_them(store: StoreHarness) -> None:
    busy = announce_waits_in_a_busy_root(store)

    store.sessions.reset(SESSION, Lane.MAIN, cap=0)

    assert archived_texts(store)[-1] == "results"
    assert store.states("announce-batch-1") == [MessageState.CANCELLED]
    assert "subagent.discarded" in store.events()
    assert store.log() == []
    assert busy.lease.run == "run-two"


def test_results_that_wait_at_a_command_to_reset_join_the_old_transcript(store: StoreHarness) -> None:
    busy = announce_waits_in_a_busy_root(store)

    store.commit(busy, reset=True)

    assert archived_texts(store)[-1] == "results"
    assert store.log() == []
    assert store.ctl("state") == "idle"


def test_results_that_wait_in_a_stale_session_join_the_old_transcript(store: StoreHarness) -> None:
    # Given a person's message, and behind it results that nobody has read
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    store.say("two", id="two", run="run-two")
    end_child(store, "a")
    store.announce()

    store.take_stale()

    assert archived_texts(store)[-1] == "results"
    assert [entry.content[0].text for entry in store.users()] == ["two"]
    assert store.waiting() == []


def test_what_another_session_says_survives_a_stale_reset(store: StoreHarness) -> None:
    store.say("one")
    store.commit(store.take())
    store.say("two", id="two")
    store.say("from elsewhere", id="three", kind="internal", mode=QueueMode.FOLLOWUP)

    store.take_stale()

    assert store.waiting() == ["three"]


def test_late_results_are_kept_for_the_archive_in_the_moment_they_are_announced(store: StoreHarness) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    taken, old = take_child(store, "a"), store.row()["sessionId"]
    store.sessions.reset(SESSION, Lane.MAIN, cap=0)
    store.commit(taken)

    announced = store.announce()

    assert announced is not None
    assert announced.how is BatchState.ARCHIVED
    (archive_id,) = store.redis.hkeys(store.keys.archives)
    assert archive_id == old, "they are behind the transcript that was cut off"
    assert archived_texts(store) == ["one", "results"]
    assert store.due_at(f"archive|{old}") is not None
    assert store.log() == []


def test_a_parked_child_holds_no_slot_and_stands_in_line_when_it_is_woken(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    child = tree(store)
    assert store.redis.zrange(store.keys.slots(Lane.MAIN), 0, -1) == [A]
    store.commit(child)
    assert store.redis.zrange(store.keys.slots(Lane.MAIN), 0, -1) == []

    taken = take_child(store, "b")
    store.say("are you there?", session=A)
    assert store.refused(session=A, run="run-a") == "lane"
    committed = store.commit(taken)

    assert committed.granted == ((RunId("run-a"), A),)
    assert take_child(store, "a").lease.run == "run-a"


def interrupted(store: StoreHarness) -> Taken:
    """`a` was cut short by a person's message while its own child works; gives the turn that answers the message."""
    child = tree(store)
    take_child(store, "b")
    store.say("instead", session=A, mode=QueueMode.INTERRUPT)
    assert store.commit(child, state=RunState.KILLED, reason="interrupt", next_run="run-a2").how == "unsettled"
    return take_child(store, "a", run="run-a2")


def test_a_later_run_of_a_child_does_not_wait_for_what_an_earlier_one_spawned(store: StoreHarness) -> None:
    assert store.commit(interrupted(store)).how == "settled"
    assert store.run("run-a").settled_at is None

    # And the earlier one is settled by the end of what it spawned, which its own announce carries up
    store.stop(session=B)
    lease = Lease(B, RunId("run-b"), Lane.MAIN, store.ctl("lease", B))
    outcome = Outcome(RunState.KILLED, "parent-ended", MessageState.CANCELLED)
    store.turns().commit(lease, "main", outcome, next_run=RunId("run-x"))
    announced = store.announce("batch-2")
    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.FOLDED, True)
    assert store.run("run-a").settled_at is not None
    assert store.redis.zcard(store.keys.live(SESSION)) == 0


def test_a_later_run_that_fails_is_settled_whatever_an_earlier_one_spawned(store: StoreHarness) -> None:
    committed = store.commit(interrupted(store), state=RunState.ERROR, reason="error")

    assert committed.how == "settled"
    assert store.run("run-a2").settled_at is not None


def test_a_child_waits_for_a_child_of_its_own_that_was_spoken_to_again(store: StoreHarness) -> None:
    # Given a child at work, whose own child has reported and is asked something more
    child = tree(store)
    end_child(store, "b")
    store.announce("batch-2")
    store.say("and?", session=B, run="run-b2")

    # When it has read the report and would end
    assert store.commit(child).how == "again"
    assert store.commit(take_child(store, "a")).how == "parked"

    # Then it is woken by the second one
    store.commit(take_child(store, "b", run="run-b2"))
    announced = store.announce("batch-run-b2")
    assert announced is not None
    assert announced.wake == "run-a"
    assert store.commit(take_child(store, "a")).how == "settled"


def test_a_child_of_several_turns_names_every_message_it_settled(store: StoreHarness) -> None:
    store.say("go")
    store.spawn(store.take(), "a")
    child = store.take(session=child_key("a"), run="run-a")
    store.say("steered", session=child_key("a"), mode=QueueMode.STEER)
    store.turns().step(child.lease, 1, [], may_steer=True)
    store.say("next", session=child_key("a"), mode=QueueMode.FOLLOWUP)
    assert store.commit(child).how == "again"
    assert store.run("run-a").covers == ["task-a", "steered"]

    store.take(session=child_key("a"), run="run-a")
    store.sessions.reset(child_key("a"), Lane.MAIN, cap=0)

    assert store.run("run-a").covers == ["task-a", "steered", "next"]


def test_a_child_of_several_turns_records_its_tokens_once(store: StoreHarness) -> None:
    child = tree(store)
    store.commit(child, usage=Usage(input=10, output=1))
    end_child(store, "b")
    store.announce("batch-2")
    store.commit(take_child(store, "a"), usage=Usage(input=5, output=2))

    assert store.run("run-a").usage == Usage(input=15, output=3)
    assert (store.row(A)["inputTokens"], store.row(A)["outputTokens"], store.row(A)["totalTokens"]) == ("15", "3", "18")


def blocked_below(store: StoreHarness) -> None:
    """`a` is parked, and what `b` found cannot be delivered to it."""
    store.commit(tree(store), "waiting")
    end_child(store, "b")


def test_a_child_whose_childrens_results_are_blocked_ends_with_that_and_its_parent_hears(store: StoreHarness) -> None:
    """I4: nobody waits for ever for what cannot be delivered."""
    blocked_below(store)

    assert store.tree.block(BatchId("batch-2"), "no room") == "run-a"

    run = store.run("run-a")
    assert (run.state, run.outcome, run.error) == (
        RunState.ERROR,
        "error",
        "the results of its sub-agents could not be delivered (no room)",
    )
    assert store.ctl("state", A) == "idle"
    announced = store.announce()
    assert announced is not None
    assert announced.how is BatchState.DELIVERED

    # And they can be delivered after all: as a message to a child that has ended, announced by itself
    assert store.tree.retry(BatchId("batch-2"))
    announced = store.announce("batch-2", run="run-a2")
    assert announced is not None
    assert (announced.how, announced.wake) == (BatchState.DELIVERED, "run-a2")
    assert store.run("run-a2").batch == "batch-run-a2"
    assert store.run("run-a").settled_at is not None


def test_a_child_that_timed_out_is_settled_when_its_childrens_results_are_blocked(store: StoreHarness) -> None:
    child = tree(store)
    end_child(store, "b")
    assert store.commit(child, state=RunState.TIMEOUT, reason="timeout").how == "unsettled"

    assert store.tree.block(BatchId("batch-2"), "no room") == "run-a"

    assert store.run("run-a").state is RunState.TIMEOUT
    assert store.announce() is not None


def test_a_child_at_work_ends_by_itself_when_its_childrens_results_are_blocked(store: StoreHarness) -> None:
    child = tree(store)
    end_child(store, "b")

    assert store.tree.block(BatchId("batch-2"), "no room") is None

    assert store.commit(child, "done").how == "settled"


def test_what_was_announced_is_not_blocked_any_more(store: StoreHarness) -> None:
    blocked_below(store)
    store.announce("batch-2")

    assert store.tree.block(BatchId("batch-2"), "too late") is None

    batch = store.tree.batch(BatchId("batch-2"))
    assert batch is not None
    assert (batch.state, batch.last_error) == (BatchState.DELIVERED, "")


SEVEN_DAYS = 7 * 86_400


def kept(store: StoreHarness, *names: str) -> list[str]:
    """How long records are kept: for ever, for seven days from now, or less."""
    found = []
    for name in names:
        key = store.keys.batch(name) if name.startswith("batch-") else store.keys.run(name)
        seconds = int(store.redis.ttl(key))
        found.append(
            "gone" if seconds == -2 else "on" if seconds == -1 else "7d" if seconds > SEVEN_DAYS - 60 else "less"
        )
    return found


def test_a_childs_record_is_kept_until_its_batch_is_announced_and_seven_days_from_then(store: StoreHarness) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a", "b")
    store.commit(parent)
    end_child(store, "a")
    assert kept(store, "run-a") == ["on"], "its sibling may be at work for longer than a record is kept"
    end_child(store, "b")
    assert kept(store, "run-a", "run-b", "batch-1") == ["on"] * 3

    store.announce()

    assert kept(store, "run-a", "run-b", "batch-1") == ["7d"] * 3


def test_results_of_a_blocked_batch_are_kept_seven_days_from_then_and_on_while_they_are_tried_again(
    store: StoreHarness,
) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a", "b")
    store.commit(parent)
    end_child(store, "a")
    end_child(store, "b")
    records = ("run-a", "run-b", "batch-1")

    store.tree.block(BatchId("batch-1"), "no room")
    assert kept(store, *records) == ["7d"] * 3

    # However old they have grown, they are not lost while the delivery is tried again
    for name in records[:2]:
        store.redis.expire(store.keys.run(name), 60)
    assert store.tree.retry(BatchId("batch-1"))
    assert kept(store, *records) == ["on"] * 3

    store.tree.block(BatchId("batch-1"), "no room")
    assert kept(store, *records) == ["7d"] * 3


def test_what_a_child_carries_up_is_kept_as_long_as_its_own_result(store: StoreHarness) -> None:
    # Given a child that failed, and whose own child was stopped for that
    child = tree(store)
    store.commit(child, state=RunState.ERROR, reason="error")
    end_child(store, "b")
    announced = store.announce("batch-2")
    assert announced is not None
    assert announced.how is BatchState.FOLDED
    records = ("run-a", "run-b", "batch-1", "batch-2")
    assert kept(store, *records) == ["on"] * 4

    # Then all of it is kept while it cannot be told, and goes with what it was told in
    store.tree.block(BatchId("batch-1"), "no room")
    assert kept(store, *records) == ["7d"] * 4
    assert store.tree.retry(BatchId("batch-1"))
    assert kept(store, *records) == ["on"] * 4
    store.announce()
    assert kept(store, *records) == ["7d"] * 4


def test_an_answer_its_parent_waited_for_in_vain_is_kept_until_it_is_announced(store: StoreHarness) -> None:
    # Given a follow-up that is left to a call, whose run ends before it has read it
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    end_child(store, "a")
    store.announce()
    taken = store.take()
    store.say("and?", id="and", session=A, run="run-a2")
    store.exchanges.wait(A, MessageId("and"), SESSION, 60_000)
    store.commit(take_child(store, "a", run="run-a2"))
    announced = store.announce("batch-run-a2")
    assert announced is not None
    assert (announced.how, kept(store, "run-a2")) == (BatchState.NONE, ["7d"])

    store.commit(taken)

    assert kept(store, "run-a2", "batch-run-a2") == ["on"] * 2


def test_that_an_answer_was_cut_off_stays_with_it_whatever_ends_the_run(store: StoreHarness) -> None:
    # Given a child whose answer stops at the output limit, and which wants no turn for what its own child found
    child = tree(store, record={"wake_on_descendant_settle": "0"})
    assert store.commit(child, "half an ans", reason="length").how == "parked"
    end_child(store, "b")

    assert store.announce("batch-2") is not None

    run = store.run("run-a")
    assert (run.state, run.text, run.cut) == (RunState.OK, "half an ans", True)


@pytest.mark.parametrize(("last", "reported", "cut"), [("", "half an ans", True), ("whole", "whole", False)])
def test_that_an_answer_was_cut_off_is_said_of_the_one_that_is_reported(
    store: StoreHarness, last: str, reported: str, cut: bool
) -> None:
    child = tree(store)
    store.commit(child, "half an ans", reason="length")
    end_child(store, "b")
    store.announce("batch-2")

    store.commit(take_child(store, "a"), last)

    run = store.run("run-a")
    assert (run.text, run.cut) == (reported, cut)
