"""Accepting: once, in order, with one wake-up, and with a receipt for whatever had to give way."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.models.ids import MessageId
from openclaw_workers.models.messages import DropPolicy, MessageState, QueueMode
from openclaw_workers.store.inbox import Accepted, Refused
from tests.unit.store.desk import REWAKE_MS, SESSION, Desk, session_named, texts


def test_the_first_message_creates_the_session_opens_a_run_and_asks_for_a_wake(desk: Desk) -> None:
    accepted = desk.say("hi", run="run-a")

    assert isinstance(accepted, Accepted)
    assert (accepted.run, accepted.wake) == ("run-a", "run-a")
    assert (desk.ctl("state"), desk.ctl("run")) == ("queued", "run-a")
    assert (desk.row()["sessionKind"], desk.row()["lastChannel"]) == ("main", "cli")
    assert desk.run("run-a").state == "queued"
    assert desk.states("hi") == ["accepted"]
    assert desk.events() == ["message.accepted"]
    due = desk.due()
    assert due is not None
    assert 0 < due - desk.now() <= REWAKE_MS


def test_only_the_change_from_idle_to_queued_asks_for_a_wake(desk: Desk) -> None:
    wakes = [desk.say(text) for text in ("one", "two", "three")]

    assert [isinstance(each, Accepted) and each.wake for each in wakes] == ["run-1", None, None]
    taken = desk.take()
    late = desk.say("while it runs")
    assert isinstance(late, Accepted)
    assert (late.run, late.wake) == (None, None)
    assert desk.commit(taken).next_run is not None


def test_a_wake_up_that_was_given_is_pushed_in_the_same_moment_and_only_then(desk: Desk) -> None:
    first = desk.say("one", wake="wake one")
    second = desk.say("two", wake="wake two")
    desk.say("one", wake="wake one again")

    assert desk.queue() == ["wake one"]
    assert [isinstance(each, Accepted) and each.wake for each in (first, second)] == [None, None]
    assert isinstance(first, Accepted)
    assert first.run is not None


def test_a_repeated_message_enters_the_inbox_once_and_wakes_nobody(desk: Desk) -> None:
    desk.say("hi", id="m1", run="run-a")
    again = desk.say("hi", id="m1", run="run-b")

    assert isinstance(again, Accepted)
    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.ACCEPTED
    assert again.wake is None
    assert desk.waiting() == ["m1"]

    taken = desk.take()
    assert desk.say("hi", id="m1") == Accepted(
        session=SESSION, run=taken.lease.run, wake=None, event_id="0", duplicate=desk.receipt("m1")
    )
    desk.commit(taken)
    last = desk.say("hi", id="m1")
    assert isinstance(last, Accepted)
    assert last.duplicate is not None
    assert last.duplicate.state is MessageState.ANSWERED
    assert desk.ctl("state") == "idle"


def test_the_sessions_own_queue_settings_win_over_channel_and_default(desk: Desk) -> None:
    desk.say("one", cap=20)
    desk.sessions.patch(SESSION, {"queueMode": "followup", "queueCap": "1", "queueDrop": "new"})

    assert desk.say("two", mode=QueueMode.STEER, cap=20) == Refused("full")
    desk.commit(desk.take())
    desk.say("three", mode=QueueMode.STEER)
    (entry,) = desk.inbox.waiting(SESSION)
    assert entry.mode is QueueMode.FOLLOWUP


def test_at_the_cap_the_oldest_gives_way_and_its_receipt_says_so(desk: Desk) -> None:
    for text in ("one", "two", "three"):
        desk.say(text, cap=2, drop=DropPolicy.OLD)

    assert desk.waiting() == ["two", "three"]
    assert (desk.receipt("one").state, desk.receipt("one").reason) == (MessageState.DROPPED, "old")
    assert "message.dropped" in desk.events()
    desk.take()
    assert [texts(entry) for entry in desk.users()] == [["Queued #1\ntwo", "Queued #2\nthree"]]


def test_at_the_cap_with_policy_new_the_newcomer_is_refused_and_stays_known(desk: Desk) -> None:
    desk.say("one", cap=1)

    assert desk.say("two", cap=1, drop=DropPolicy.NEW) == Refused("full")
    assert desk.waiting() == ["one"]
    assert desk.states("two") == ["rejected"]
    again = desk.say("two", cap=5)
    assert isinstance(again, Accepted)
    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.REJECTED


def test_summarize_shows_one_line_of_each_dropped_message_once_and_keeps_at_most_the_cap(desk: Desk) -> None:
    for text in ("one", "two\n  lines", "three", "four", "five"):
        desk.say(text, cap=2, drop=DropPolicy.SUMMARIZE)

    taken = desk.take()

    (entry,) = desk.users()
    head, *rest = texts(entry)
    assert head.splitlines() == [
        "[2 earlier message(s) were dropped because the queue was full]",
        "- two lines",
        "- three",
    ], "three were dropped; the lines are bounded by the cap too"
    assert rest == ["Queued #1\nfour", "Queued #2\nfive"]
    desk.commit(taken)
    desk.say("six")
    desk.take()
    assert texts(desk.users()[-1]) == ["six"]


def test_commands_neither_count_as_droppable_nor_are_refused(desk: Desk) -> None:
    desk.say("/new", kind="command", cap=1)
    desk.say("one", cap=1, drop=DropPolicy.OLD)
    assert desk.waiting() == ["/new", "one"]

    desk.say("two", cap=1, drop=DropPolicy.OLD)
    assert desk.waiting() == ["/new", "two"]
    assert isinstance(desk.say("/reset", kind="command", cap=1, drop=DropPolicy.NEW), Accepted)


def test_mode_reject_refuses_only_while_the_session_is_busy(desk: Desk) -> None:
    assert isinstance(desk.say("one", mode=QueueMode.REJECT), Accepted)
    assert desk.say("two", mode=QueueMode.REJECT) == Refused("busy")
    taken = desk.take()
    assert desk.say("three", mode=QueueMode.REJECT) == Refused("busy")
    desk.commit(taken)
    assert isinstance(desk.say("four", mode=QueueMode.REJECT), Accepted)
    assert desk.states("one", "two", "three", "four") == ["answered", "rejected", "rejected", "accepted"]


def test_interrupt_cancels_what_waits_spares_commands_and_names_the_running_run(desk: Desk) -> None:
    desk.say("running")
    taken = desk.take()
    desk.say("waiting")
    desk.say("/new", kind="command")

    desk.say("now", mode=QueueMode.INTERRUPT)

    assert desk.waiting() == ["/new", "now"]
    assert (desk.receipt("waiting").state, desk.receipt("waiting").reason) == (MessageState.CANCELLED, "interrupt")
    assert (desk.ctl("abort"), desk.ctl("abort_reason")) == (taken.lease.run, "interrupt")


def test_whoever_waits_for_the_answer_to_a_message_that_an_interrupt_cancels_is_told_at_once(desk: Desk) -> None:
    (asker,) = session_named("asker")
    desk.say("running")
    desk.take()
    desk.say("asked", kind="internal", mode=QueueMode.FOLLOWUP)
    desk.exchanges.wait(SESSION, MessageId("asked"), asker, 60_000)

    desk.say("now", mode=QueueMode.INTERRUPT)

    due = desk.due(f"turn|{asker}")
    assert due is not None
    assert due <= desk.now()
    assert desk.redis.hgetall(desk.keys.waiters(SESSION)) == {}


def test_interrupt_of_a_run_that_has_not_begun_marks_nothing(desk: Desk) -> None:
    desk.say("waiting")
    desk.say("now", mode=QueueMode.INTERRUPT)

    assert desk.ctl("abort") == ""
    assert desk.take().abort == ""
    assert desk.states("waiting", "now") == ["cancelled", "bound"]


def test_interrupt_between_two_owners_reaches_the_next_one(desk: Desk) -> None:
    desk.say("running")
    desk.take()
    desk.crash()

    desk.say("now", mode=QueueMode.INTERRUPT)

    assert desk.take("w2").abort == "interrupt"


def test_receipts_are_pruned_oldest_first_but_never_those_still_open(desk: Desk) -> None:
    desk.say("open", mode=QueueMode.FOLLOWUP)
    settled: dict[Any, Any] = {f"m{n:04}": '{"state":"answered"}' for n in range(2005)}
    desk.redis.hset(desk.keys.receipts(SESSION), mapping=settled)
    desk.redis.zadd(desk.keys.ages(SESSION), {name: 1_000 + n for n, name in enumerate(settled)})
    desk.redis.zadd(desk.keys.ages(SESSION), {"open": 1})

    desk.say("one more")

    left = desk.redis.hkeys(desk.keys.receipts(SESSION))
    assert {"open", "one more", "m0020"} <= set(left)
    assert not {"m0000", "m0008"} & set(left)
    assert desk.redis.zcard(desk.keys.ages(SESSION)) == len(left)


def test_receipts_of_refused_messages_are_pruned_too(desk: Desk) -> None:
    desk.say("busy", mode=QueueMode.FOLLOWUP)
    for number in range(2_050):
        desk.say("no", id=f"m{number}", mode=QueueMode.REJECT)

    assert desk.redis.hlen(desk.keys.receipts(SESSION)) <= 2_000


def test_sessions_do_not_see_each_others_message_ids(desk: Desk) -> None:
    here, there = session_named("a", "b")

    for session in (here, there):
        accepted = desk.say("hi", id="m1", session=session)
        assert isinstance(accepted, Accepted)
        assert accepted.duplicate is None


@pytest.mark.parametrize("text", ["\x00 \x1f", "雪\u2028\U0001f980", '"}],\\', "a" * 100_000])
def test_any_text_comes_through_unchanged(desk: Desk, text: str) -> None:
    desk.say(text, id="m1", sender='Ann "the" O\'Neill')

    desk.take()

    assert texts(desk.users()[0]) == [text]
