"""Accepting: once, in order, with one wake-up, and with a receipt for whatever had to give way."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from openclaw_workers.domain.ids import MessageId
from openclaw_workers.domain.messages import MOST_WAITING, DropPolicy, MessageState, QueueMode
from openclaw_workers.store.inbox import Accepted, Refused
from tests.component.store.harness import REWAKE_MS, SESSION, StoreHarness, session_named, texts


def test_the_first_message_creates_the_session_opens_a_run_and_asks_for_a_wake(store: StoreHarness) -> None:
    accepted = store.say("hi", run="run-a")

    assert isinstance(accepted, Accepted)
    assert (accepted.run, accepted.wake) == ("run-a", "run-a")
    assert (store.ctl("state"), store.ctl("run")) == ("queued", "run-a")
    assert (store.row()["sessionKind"], store.row()["lastChannel"]) == ("main", "cli")
    assert store.run("run-a").state == "queued"
    assert store.states("hi") == ["accepted"]
    assert store.events() == ["message.accepted"]
    due = store.due_at()
    assert due is not None
    assert 0 < due - store.now() <= REWAKE_MS


def test_only_the_change_from_idle_to_queued_asks_for_a_wake(store: StoreHarness) -> None:
    wakes = [store.say(text) for text in ("one", "two", "three")]

    assert [isinstance(each, Accepted) and each.wake for each in wakes] == ["run-1", None, None]
    taken = store.take()
    late = store.say("while it runs")
    assert isinstance(late, Accepted)
    assert (late.run, late.wake) == (None, None)
    assert store.commit(taken).next_run is not None


def test_a_wake_up_that_was_given_is_pushed_in_the_same_moment_and_only_then(store: StoreHarness) -> None:
    first = store.say("one", wake="wake one")
    second = store.say("two", wake="wake two")
    store.say("one", wake="wake one again")

    assert store.queue() == ["wake one"]
    assert [isinstance(each, Accepted) and each.wake for each in (first, second)] == [None, None]
    assert isinstance(first, Accepted)
    assert first.run is not None


def test_a_repeated_message_enters_the_inbox_once_and_wakes_nobody(store: StoreHarness) -> None:
    store.say("hi", id="m1", run="run-a")
    again = store.say("hi", id="m1", run="run-b")

    assert isinstance(again, Accepted)
    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.ACCEPTED
    assert again.wake is None
    assert store.waiting() == ["m1"]

    taken = store.take()
    assert store.say("hi", id="m1") == Accepted(
        session=SESSION, run=taken.lease.run, wake=None, event_id="0", duplicate=store.receipt("m1")
    )
    store.commit(taken)
    last = store.say("hi", id="m1")
    assert isinstance(last, Accepted)
    assert last.duplicate is not None
    assert last.duplicate.state is MessageState.ANSWERED
    assert store.ctl("state") == "idle"


def test_the_sessions_own_queue_settings_win_over_channel_and_default(store: StoreHarness) -> None:
    store.say("one", cap=20)
    store.sessions.patch(SESSION, {"queueMode": "followup", "queueCap": "1", "queueDrop": "new"})

    assert store.say("two", mode=QueueMode.STEER, cap=20) == Refused("full")
    store.commit(store.take())
    store.say("three", mode=QueueMode.STEER)
    (entry,) = store.inbox.waiting(SESSION)
    assert entry.mode is QueueMode.FOLLOWUP


def test_at_the_cap_the_oldest_gives_way_and_its_receipt_says_so(store: StoreHarness) -> None:
    for text in ("one", "two", "three"):
        store.say(text, cap=2, drop=DropPolicy.OLD)

    assert store.waiting() == ["two", "three"]
    assert (store.receipt("one").state, store.receipt("one").reason) == (MessageState.DROPPED, "old")
    assert "message.dropped" in store.events()
    store.take()
    assert [texts(entry) for entry in store.users()] == [["Queued #1\ntwo", "Queued #2\nthree"]]


def test_at_the_cap_with_policy_new_the_newcomer_is_refused_and_stays_known(store: StoreHarness) -> None:
    store.say("one", cap=1)

    assert store.say("two", cap=1, drop=DropPolicy.NEW) == Refused("full")
    assert store.waiting() == ["one"]
    assert store.states("two") == ["rejected"]
    again = store.say("two", cap=5)
    assert isinstance(again, Accepted)
    assert again.duplicate is not None
    assert again.duplicate.state is MessageState.REJECTED


def test_summarize_shows_one_line_of_each_dropped_message_once_and_keeps_at_most_the_cap(store: StoreHarness) -> None:
    for text in ("one", "two\n  lines", "three", "four", "five"):
        store.say(text, cap=2, drop=DropPolicy.SUMMARIZE)

    taken = store.take()

    (entry,) = store.users()
    head, *rest = texts(entry)
    assert head.splitlines() == [
        "[2 earlier message(s) were dropped because the queue was full]",
        "- two lines",
        "- three",
    ], "three were dropped; the lines are bounded by the cap too"
    assert rest == ["Queued #1\nfour", "Queued #2\nfive"]
    store.commit(taken)
    store.say("six")
    store.take()
    assert texts(store.users()[-1]) == ["six"]


def test_commands_neither_count_as_droppable_nor_are_refused(store: StoreHarness) -> None:
    store.say("/new", kind="command", cap=1)
    store.say("one", cap=1, drop=DropPolicy.OLD)
    assert store.waiting() == ["/new", "one"]

    store.say("two", cap=1, drop=DropPolicy.OLD)
    assert store.waiting() == ["/new", "two"]
    assert isinstance(store.say("/reset", kind="command", cap=1, drop=DropPolicy.NEW), Accepted)


def test_mode_reject_refuses_only_while_the_session_is_busy(store: StoreHarness) -> None:
    assert isinstance(store.say("one", mode=QueueMode.REJECT), Accepted)
    assert store.say("two", mode=QueueMode.REJECT) == Refused("busy")
    taken = store.take()
    assert store.say("three", mode=QueueMode.REJECT) == Refused("busy")
    store.commit(taken)
    assert isinstance(store.say("four", mode=QueueMode.REJECT), Accepted)
    assert store.states("one", "two", "three", "four") == ["answered", "rejected", "rejected", "accepted"]


def test_interrupt_cancels_what_waits_spares_commands_and_names_the_running_run(store: StoreHarness) -> None:
    store.say("running")
    taken = store.take()
    store.say("waiting")
    store.say("/new", kind="command")

    store.say("now", mode=QueueMode.INTERRUPT)

    assert store.waiting() == ["/new", "now"]
    assert (store.receipt("waiting").state, store.receipt("waiting").reason) == (MessageState.CANCELLED, "interrupt")
    assert (store.ctl("abort"), store.ctl("abort_reason")) == (taken.lease.run, "interrupt")


def test_whoever_waits_for_the_answer_to_a_message_that_an_interrupt_cancels_learns_it_at_once(
    store: StoreHarness,
) -> None:
    (asker,) = session_named("asker")
    store.say("running")
    store.take()
    store.say("asked", kind="internal", mode=QueueMode.FOLLOWUP)
    store.exchanges.wait(SESSION, MessageId("asked"), asker, 60_000)

    store.say("now", mode=QueueMode.INTERRUPT)

    due = store.due_at(f"turn|{asker}")
    assert due is not None
    assert due <= store.now()
    assert store.redis.hgetall(store.keys.waiters(SESSION)) == {}


def test_interrupt_of_a_run_that_has_not_begun_marks_nothing(store: StoreHarness) -> None:
    store.say("waiting")
    store.say("now", mode=QueueMode.INTERRUPT)

    assert store.ctl("abort") == ""
    assert store.take().abort == ""
    assert store.states("waiting", "now") == ["cancelled", "bound"]


def test_interrupt_between_two_owners_reaches_the_next_one(store: StoreHarness) -> None:
    store.say("running")
    store.take()
    store.crash()

    store.say("now", mode=QueueMode.INTERRUPT)

    assert store.take("w2").abort == "interrupt"


def test_receipts_are_pruned_oldest_first_but_never_those_still_open(store: StoreHarness) -> None:
    store.say("open", mode=QueueMode.FOLLOWUP)
    settled: dict[Any, Any] = {f"m{n:04}": '{"state":"answered"}' for n in range(2005)}
    store.redis.hset(store.keys.receipts(SESSION), mapping=settled)
    index = store.keys.settled_receipts(SESSION)
    store.redis.zadd(index, {name: 1_000 + n for n, name in enumerate(settled)})

    store.say("refused", mode=QueueMode.REJECT)

    left = store.redis.hkeys(store.keys.receipts(SESSION))
    assert {"open", "refused", "m0006"} <= set(left)
    assert not {"m0000", "m0005"} & set(left)
    assert store.redis.zcard(index) == len(left) - 1, "that of the message that waits is in no index"


@pytest.mark.parametrize("kind", ["user", "command"])
def test_an_inbox_takes_a_bounded_number_of_messages_whatever_cap_is_set(
    store: StoreHarness, kind: Literal["user", "command"]
) -> None:
    fill(store)

    assert store.say("one more", kind=kind, cap=10**6) == Refused("full")
    assert store.redis.zcard(store.keys.inbox(SESSION)) == MOST_WAITING


def test_a_message_of_an_agent_to_a_full_inbox_can_be_tried_again(store: StoreHarness) -> None:
    fill(store)

    assert store.say("send", kind="internal") == Refused("busy")
    assert store.inbox.receipt(SESSION, MessageId("send")) is None

    store.redis.zpopmin(store.keys.inbox(SESSION))
    assert isinstance(store.say("send", kind="internal"), Accepted)


def fill(store: StoreHarness) -> None:
    """Have as many messages of other sessions wait as can."""
    store.say("first", kind="internal")
    waiting = store.redis.zrange(store.keys.inbox(SESSION), 0, 0)[0]
    more = {str(waiting).replace('"seq":1,', f'"seq":{n},'): n for n in range(2, MOST_WAITING + 1)}
    store.redis.zadd(store.keys.inbox(SESSION), more)


def test_receipts_of_refused_messages_are_pruned_too(store: StoreHarness) -> None:
    store.say("busy", mode=QueueMode.FOLLOWUP)
    for number in range(2_050):
        store.say("no", id=f"m{number}", mode=QueueMode.REJECT)

    assert store.redis.hlen(store.keys.receipts(SESSION)) <= 2_001, "and that of the message that waits"


def test_sessions_do_not_see_each_others_message_ids(store: StoreHarness) -> None:
    here, there = session_named("a", "b")

    for session in (here, there):
        accepted = store.say("hi", id="m1", session=session)
        assert isinstance(accepted, Accepted)
        assert accepted.duplicate is None


@pytest.mark.parametrize("text", ["\x00 \x1f", "雪\u2028\U0001f980", '"}],\\', "a" * 100_000])
def test_any_text_comes_through_unchanged(store: StoreHarness, text: str) -> None:
    store.say(text, id="m1", sender='Ann "the" O\'Neill')

    store.take()

    assert texts(store.users()[0]) == [text]
