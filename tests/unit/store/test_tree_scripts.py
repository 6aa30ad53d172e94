"""The scripts of the tree at their edges: what is parked, stopped, reset or deleted while something else moves."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.models.ids import BatchId, MessageId, RunId
from openclaw_workers.models.messages import MessageState, QueueMode
from openclaw_workers.models.runs import Lane, RunState
from openclaw_workers.models.transcript import Usage
from openclaw_workers.models.tree import AnnounceMode, BatchState
from openclaw_workers.store.turns import Lease, Outcome, Taken, WaitFor
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import SESSION, Desk, child_key

A, B, C = child_key("a"), child_key("b"), child_key("c")
ELSEWHERE = child_key("elsewhere")


def take_child(desk: Desk, name: str, **how: str) -> Taken:
    return desk.take(session=child_key(name), run=how.get("run", f"run-{name}"))


def end_child(desk: Desk, name: str, *, state: RunState = RunState.OK, reason: str = "complete") -> str:
    return desk.commit(take_child(desk, name), text=name, state=state, reason=reason).how


def tree(desk: Desk, *, record: dict[str, str] | None = None, mode: AnnounceMode = AnnounceMode.BATCH) -> Taken:
    """The root has ended its turn, its child `a` is at work and has spawned `b`."""
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a", record=record)
    desk.commit(parent)
    child = take_child(desk, "a")
    desk.spawn(child, "b", batch="batch-2", mode=mode)
    return child


def park_in_a_call(desk: Desk, taken: Taken) -> None:
    """The run waits for another session's answer in the middle of its turn."""
    desk.redis.hset(desk.keys.waiters(ELSEWHERE), "m", taken.lease.session)
    woken, _ = desk.turns().release(taken.lease, WaitFor(ELSEWHERE, MessageId("m"), 30_000))
    assert not woken


def test_a_run_that_waits_in_a_call_is_not_ended_by_a_batch_nobody_hears_of(desk: Desk) -> None:
    child = tree(desk, mode=AnnounceMode.NONE)
    park_in_a_call(desk, child)
    end_child(desk, "b")

    announced = desk.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.NONE, False)
    assert desk.run("run-a").state is RunState.PARKED


def test_a_run_that_waits_in_a_call_and_wants_no_further_turn_is_not_ended_by_its_childs_end(desk: Desk) -> None:
    child = tree(desk, record={"wake_on_descendant_settle": "0"})
    park_in_a_call(desk, child)
    end_child(desk, "b")

    announced = desk.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.ATTACHED, False)
    assert desk.run("run-a").state is RunState.PARKED


def test_a_parked_child_that_began_anew_ends_when_what_it_waited_for_is_over(desk: Desk) -> None:
    # Given a child that waits for its own, and whose session began a new life in the same turn
    child = tree(desk)
    assert desk.commit(child, reset=True).how == "parked"
    end_child(desk, "b")

    # When the results come, which its new life did not ask for
    announced = desk.announce("batch-2")

    # Then it waits no longer
    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.ARCHIVED, True)
    assert desk.run("run-a").state is RunState.OK
    assert desk.ctl("state", A) == "idle"


def test_a_result_nobody_was_to_hear_is_not_carried_up_when_its_parent_fails(desk: Desk) -> None:
    child = tree(desk, mode=AnnounceMode.NONE)
    assert desk.commit(child, state=RunState.ERROR, reason="error").how == "unsettled"
    end_child(desk, "b")

    announced = desk.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.NONE, True)


def test_a_stop_that_comes_during_the_last_word_is_not_parked_away(desk: Desk) -> None:
    # Given a child that was asked to stop after its last step, and says its last word all the same
    child = tree(desk)
    assert desk.stop(session=A).begun

    # When it would wait for its own child
    committed = desk.commit(child)

    # Then it is woken to end instead
    assert (committed.how, committed.next_run) == ("again", "run-a")
    assert take_child(desk, "a").abort == "killed"


def test_a_run_that_ends_with_no_message_says_so_with_an_empty_list(desk: Desk) -> None:
    desk.commit(tree(desk))

    assert not desk.stop(session=A).begun

    (ended,) = [event for event in desk.reader.events(A, "0") if event.type == "run.ended"]
    assert ended.data["covers"] == []


def test_a_stop_that_comes_before_the_park_in_a_call_wakes_the_run_at_once(desk: Desk) -> None:
    child = tree(desk)
    desk.redis.hset(desk.keys.waiters(ELSEWHERE), "m", A)
    desk.stop(session=A)

    woken, _ = desk.turns().release(child.lease, WaitFor(ELSEWHERE, MessageId("m"), 30_000))

    assert woken
    assert take_child(desk, "a").abort == "killed"


def test_a_run_parks_in_a_call_no_longer_than_it_may_live(desk: Desk) -> None:
    child = tree(desk)
    desk.redis.hset(desk.keys.run("run-a"), "deadline_at", str(desk.now() + 1_000))
    park_in_a_call(desk, child)

    due = desk.due(f"turn|{A}")
    assert due is not None
    assert due <= desk.now() + 1_000


def test_a_child_that_waits_for_its_own_is_not_woken_with_nothing_to_say(desk: Desk) -> None:
    # Given a parked child with a due item that something else left behind
    child = tree(desk)
    desk.commit(child)
    desk.redis.zadd(desk.keys.due, {f"turn|{A}": 1})

    # Then a look at it puts it back to wait until its time is over
    assert desk.rescue(A).verb == "wait"
    assert desk.ctl("state", A) == "parked"
    assert desk.due(f"turn|{A}") == desk.run("run-a").deadline_at

    # And once that has come it is woken
    desk.redis.hset(desk.keys.run("run-a"), "deadline_at", str(desk.now() - 1))
    assert desk.rescue(A).verb == "wake"


def test_a_message_to_a_child_whose_parent_is_gone_brings_nothing_of_the_parent_back(desk: Desk) -> None:
    child = tree(desk)
    desk.commit(child)
    end_child(desk, "b")
    desk.announce("batch-2")
    end_child(desk, "a")
    desk.announce()
    desk.sessions.delete(A, Lane.MAIN, cap=0)

    desk.say("and now?", session=B, run="run-b2")

    assert desk.redis.exists(desk.keys.ctl(A), desk.keys.live(A), desk.keys.batches(A)) == 0
    assert desk.commit(take_child(desk, "b", run="run-b2")).how == "ended"
    assert not desk.run("run-b2").is_child


def test_whose_children_were_whose_is_known_after_a_child_is_deleted(desk: Desk) -> None:
    child = tree(desk)
    desk.sessions.delete(child.lease.session, Lane.MAIN, cap=0)

    assert [run.id for run in desk.tree.children(A)] == ["run-b"]
    assert desk.redis.ttl(desk.keys.children(A)) > 0


def test_an_order_to_stop_children_of_an_old_life_spares_those_of_the_next(desk: Desk) -> None:
    # Given a root that is deleted while its children work, and whose children nobody has stopped yet
    # (more of them than milliseconds pass: each has a place of its own)
    desk.say("one")
    old = [f"old{n:02}" for n in range(50)]
    desk.spawn(desk.take(), *old, most_children=100, most_tree=100)
    desk.sessions.delete(SESSION, Lane.MAIN, cap=0)

    # When a new session of the same name spawns
    desk.say("two", run="run-two")
    desk.spawn(desk.take(), "c", batch="batch-3", most_children=100, most_tree=100)

    # Then the order reaches only the old ones
    order = desk.tree.reap(SESSION)
    assert order is not None
    assert [run.id for run in desk.tree.live(SESSION, order.upto)] == [f"run-{name}" for name in old]


def announce_waits_in_a_busy_root(desk: Desk) -> Taken:
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    desk.say("two", id="two", run="run-two")
    busy = desk.take()
    end_child(desk, "a")
    desk.announce()
    assert desk.waiting() == ["announce-batch-1"]
    return busy


def archived_texts(desk: Desk) -> list[str]:
    entries = [json.loads(raw) for raw in desk.archive()[1]]
    return [entry["content"][0]["text"] for entry in entries if entry["role"] == "user"]


def test_results_that_wait_at_a_reset_join_the_transcript_that_asked_for_them(desk: Desk) -> None:
    busy = announce_waits_in_a_busy_root(desk)

    desk.sessions.reset(SESSION, Lane.MAIN, cap=0)

    assert archived_texts(desk)[-1] == "results"
    assert desk.states("announce-batch-1") == [MessageState.CANCELLED]
    assert "subagent.discarded" in desk.events()
    assert desk.log() == []
    assert busy.lease.run == "run-two"


def test_results_that_wait_at_a_command_to_begin_anew_join_the_old_transcript(desk: Desk) -> None:
    busy = announce_waits_in_a_busy_root(desk)

    desk.commit(busy, reset=True)

    assert archived_texts(desk)[-1] == "results"
    assert desk.log() == []
    assert desk.ctl("state") == "idle"


def test_results_that_wait_in_a_stale_session_join_the_old_transcript(desk: Desk) -> None:
    # Given a person's message, and behind it results that nobody has read
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    desk.say("two", id="two", run="run-two")
    end_child(desk, "a")
    desk.announce()

    desk.take_stale()

    assert archived_texts(desk)[-1] == "results"
    assert [entry.content[0].text for entry in desk.users()] == ["two"]
    assert desk.waiting() == []


def test_what_another_session_says_survives_a_stale_reset(desk: Desk) -> None:
    desk.say("one")
    desk.commit(desk.take())
    desk.say("two", id="two")
    desk.say("from elsewhere", id="three", kind="internal", mode=QueueMode.FOLLOWUP)

    desk.take_stale()

    assert desk.waiting() == ["three"]


def test_late_results_are_kept_for_the_archive_in_the_moment_they_are_announced(desk: Desk) -> None:
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    taken, old = take_child(desk, "a"), desk.row()["sessionId"]
    desk.sessions.reset(SESSION, Lane.MAIN, cap=0)
    desk.commit(taken)

    announced = desk.announce()

    assert announced is not None
    assert announced.how is BatchState.ARCHIVED
    (archive_id,) = desk.redis.hkeys(desk.keys.archives)
    assert archive_id == old, "they are behind the transcript that was cut off"
    assert archived_texts(desk) == ["one", "results"]
    assert desk.due(f"archive|{old}") is not None
    assert desk.log() == []


def test_a_parked_child_holds_no_slot_and_stands_in_line_when_it_is_woken(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    child = tree(desk)
    assert desk.redis.zrange(desk.keys.slots(Lane.MAIN), 0, -1) == [A]
    desk.commit(child)
    assert desk.redis.zrange(desk.keys.slots(Lane.MAIN), 0, -1) == []

    taken = take_child(desk, "b")
    desk.say("are you there?", session=A)
    assert desk.refused(session=A, run="run-a") == "lane"
    committed = desk.commit(taken)

    assert committed.granted == ((RunId("run-a"), A),)
    assert take_child(desk, "a").lease.run == "run-a"


def interrupted(desk: Desk) -> Taken:
    """`a` was cut short by a person's message while its own child works; gives the turn that answers the message."""
    child = tree(desk)
    take_child(desk, "b")
    desk.say("instead", session=A, mode=QueueMode.INTERRUPT)
    assert desk.commit(child, state=RunState.KILLED, reason="interrupt", next_run="run-a2").how == "unsettled"
    return take_child(desk, "a", run="run-a2")


def test_a_later_run_of_a_child_does_not_wait_for_what_an_earlier_one_spawned(desk: Desk) -> None:
    assert desk.commit(interrupted(desk)).how == "settled"
    assert desk.run("run-a").settled_at is None

    # And the earlier one is settled by the end of what it spawned, which its own announce carries up
    desk.stop(session=B)
    lease = Lease(B, RunId("run-b"), Lane.MAIN, desk.ctl("lease", B))
    outcome = Outcome(RunState.KILLED, "parent-ended", MessageState.CANCELLED)
    desk.turns().commit(lease, "main", outcome, next_run=RunId("run-x"))
    announced = desk.announce("batch-2")
    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.FOLDED, True)
    assert desk.run("run-a").settled_at is not None
    assert desk.redis.zcard(desk.keys.live(SESSION)) == 0


def test_a_later_run_that_fails_is_settled_whatever_an_earlier_one_spawned(desk: Desk) -> None:
    committed = desk.commit(interrupted(desk), state=RunState.ERROR, reason="error")

    assert committed.how == "settled"
    assert desk.run("run-a2").settled_at is not None


def test_a_child_waits_for_a_child_of_its_own_that_was_spoken_to_again(desk: Desk) -> None:
    # Given a child at work, whose own child has reported and is asked something more
    child = tree(desk)
    end_child(desk, "b")
    desk.announce("batch-2")
    desk.say("and?", session=B, run="run-b2")

    # When it has read the report and would end
    assert desk.commit(child).how == "again"
    assert desk.commit(take_child(desk, "a")).how == "parked"

    # Then it is woken by the second one
    desk.commit(take_child(desk, "b", run="run-b2"))
    announced = desk.announce("batch-run-b2")
    assert announced is not None
    assert announced.wake == "run-a"
    assert desk.commit(take_child(desk, "a")).how == "settled"


def test_a_child_of_several_turns_names_every_message_it_settled(desk: Desk) -> None:
    desk.say("go")
    desk.spawn(desk.take(), "a")
    child = desk.take(session=child_key("a"), run="run-a")
    desk.say("steered", session=child_key("a"), mode=QueueMode.STEER)
    desk.turns().step(child.lease, 1, [], may_steer=True)
    desk.say("next", session=child_key("a"), mode=QueueMode.FOLLOWUP)
    assert desk.commit(child).how == "again"
    assert desk.run("run-a").covers == ["task-a", "steered"]

    desk.take(session=child_key("a"), run="run-a")
    desk.sessions.reset(child_key("a"), Lane.MAIN, cap=0)

    assert desk.run("run-a").covers == ["task-a", "steered", "next"]


def test_a_child_of_several_turns_books_its_tokens_once(desk: Desk) -> None:
    child = tree(desk)
    desk.commit(child, usage=Usage(input=10, output=1))
    end_child(desk, "b")
    desk.announce("batch-2")
    desk.commit(take_child(desk, "a"), usage=Usage(input=5, output=2))

    assert desk.run("run-a").usage == Usage(input=15, output=3)
    assert (desk.row(A)["inputTokens"], desk.row(A)["outputTokens"], desk.row(A)["totalTokens"]) == ("15", "3", "18")


def blocked_below(desk: Desk) -> None:
    """`a` is parked, and what `b` found cannot be delivered to it."""
    desk.commit(tree(desk), "waiting")
    end_child(desk, "b")


def test_a_child_whose_childrens_results_are_blocked_ends_with_that_and_its_parent_hears(desk: Desk) -> None:
    """I4: nobody waits for ever for what cannot be delivered."""
    blocked_below(desk)

    assert desk.tree.block(BatchId("batch-2"), "no room") == "run-a"

    run = desk.run("run-a")
    assert (run.state, run.outcome, run.error) == (
        RunState.ERROR,
        "error",
        "the results of its sub-agents could not be delivered (no room)",
    )
    assert desk.ctl("state", A) == "idle"
    announced = desk.announce()
    assert announced is not None
    assert announced.how is BatchState.DELIVERED

    # And they can be delivered after all: as a message to a child that has ended, announced by itself
    assert desk.tree.retry(BatchId("batch-2"))
    announced = desk.announce("batch-2", run="run-a2")
    assert announced is not None
    assert (announced.how, announced.wake) == (BatchState.DELIVERED, "run-a2")
    assert desk.run("run-a2").batch == "batch-run-a2"
    assert desk.run("run-a").settled_at is not None


def test_a_child_that_timed_out_is_settled_when_its_childrens_results_are_blocked(desk: Desk) -> None:
    child = tree(desk)
    end_child(desk, "b")
    assert desk.commit(child, state=RunState.TIMEOUT, reason="timeout").how == "unsettled"

    assert desk.tree.block(BatchId("batch-2"), "no room") == "run-a"

    assert desk.run("run-a").state is RunState.TIMEOUT
    assert desk.announce() is not None


def test_a_child_at_work_ends_by_itself_when_its_childrens_results_are_blocked(desk: Desk) -> None:
    child = tree(desk)
    end_child(desk, "b")

    assert desk.tree.block(BatchId("batch-2"), "no room") is None

    assert desk.commit(child, "done").how == "settled"


def test_what_was_announced_is_not_blocked_any_more(desk: Desk) -> None:
    blocked_below(desk)
    desk.announce("batch-2")

    assert desk.tree.block(BatchId("batch-2"), "too late") is None

    batch = desk.tree.batch(BatchId("batch-2"))
    assert batch is not None
    assert (batch.state, batch.last_error) == (BatchState.DELIVERED, "")


SEVEN_DAYS = 7 * 86_400


def kept(desk: Desk, *names: str) -> list[str]:
    """How long records are kept: for ever, for seven days from now, or less."""
    found = []
    for name in names:
        key = desk.keys.batch(name) if name.startswith("batch-") else desk.keys.run(name)
        seconds = int(desk.redis.ttl(key))
        found.append(
            "gone" if seconds == -2 else "on" if seconds == -1 else "7d" if seconds > SEVEN_DAYS - 60 else "less"
        )
    return found


def test_a_childs_record_is_kept_until_its_batch_is_announced_and_seven_days_from_then(desk: Desk) -> None:
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a", "b")
    desk.commit(parent)
    end_child(desk, "a")
    assert kept(desk, "run-a") == ["on"], "its sibling may be at work for longer than a record is kept"
    end_child(desk, "b")
    assert kept(desk, "run-a", "run-b", "batch-1") == ["on"] * 3

    desk.announce()

    assert kept(desk, "run-a", "run-b", "batch-1") == ["7d"] * 3


def test_results_of_a_blocked_batch_are_kept_seven_days_from_then_and_on_while_they_are_tried_again(desk: Desk) -> None:
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a", "b")
    desk.commit(parent)
    end_child(desk, "a")
    end_child(desk, "b")
    records = ("run-a", "run-b", "batch-1")

    desk.tree.block(BatchId("batch-1"), "no room")
    assert kept(desk, *records) == ["7d"] * 3

    # However old they have grown, they are not lost while the delivery is tried again
    for name in records[:2]:
        desk.redis.expire(desk.keys.run(name), 60)
    assert desk.tree.retry(BatchId("batch-1"))
    assert kept(desk, *records) == ["on"] * 3

    desk.tree.block(BatchId("batch-1"), "no room")
    assert kept(desk, *records) == ["7d"] * 3


def test_what_a_child_carries_up_is_kept_as_long_as_its_own_result(desk: Desk) -> None:
    # Given a child that failed, and whose own child was stopped for that
    child = tree(desk)
    desk.commit(child, state=RunState.ERROR, reason="error")
    end_child(desk, "b")
    announced = desk.announce("batch-2")
    assert announced is not None
    assert announced.how is BatchState.FOLDED
    records = ("run-a", "run-b", "batch-1", "batch-2")
    assert kept(desk, *records) == ["on"] * 4

    # Then all of it is kept while it cannot be told, and goes with what it was told in
    desk.tree.block(BatchId("batch-1"), "no room")
    assert kept(desk, *records) == ["7d"] * 4
    assert desk.tree.retry(BatchId("batch-1"))
    assert kept(desk, *records) == ["on"] * 4
    desk.announce()
    assert kept(desk, *records) == ["7d"] * 4


def test_an_answer_its_parent_waited_for_in_vain_is_kept_until_it_is_announced(desk: Desk) -> None:
    # Given a follow-up that is left to a call, whose run ends before it has read it
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    end_child(desk, "a")
    desk.announce()
    taken = desk.take()
    desk.say("and?", id="and", session=A, run="run-a2")
    desk.exchanges.wait(A, MessageId("and"), SESSION, 60_000)
    desk.commit(take_child(desk, "a", run="run-a2"))
    announced = desk.announce("batch-run-a2")
    assert announced is not None
    assert (announced.how, kept(desk, "run-a2")) == (BatchState.NONE, ["7d"])

    desk.commit(taken)

    assert kept(desk, "run-a2", "batch-run-a2") == ["on"] * 2


def test_that_an_answer_was_cut_off_stays_with_it_whatever_ends_the_run(desk: Desk) -> None:
    # Given a child whose answer stops at the output limit, and which wants no turn for what its own child found
    child = tree(desk, record={"wake_on_descendant_settle": "0"})
    assert desk.commit(child, "half an ans", reason="length").how == "parked"
    end_child(desk, "b")

    assert desk.announce("batch-2") is not None

    run = desk.run("run-a")
    assert (run.state, run.text, run.cut) == (RunState.OK, "half an ans", True)


@pytest.mark.parametrize(("last", "told", "cut"), [("", "half an ans", True), ("whole", "whole", False)])
def test_that_an_answer_was_cut_off_is_said_of_the_one_that_is_told(
    desk: Desk, last: str, told: str, cut: bool
) -> None:
    child = tree(desk)
    desk.commit(child, "half an ans", reason="length")
    end_child(desk, "b")
    desk.announce("batch-2")

    desk.commit(take_child(desk, "a"), last)

    run = desk.run("run-a")
    assert (run.text, run.cut) == (told, cut)
