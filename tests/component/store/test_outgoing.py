"""What scripts send to chats: in the moment of its cause, only to channels that push, and as the send policy says."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.domain.ids import BatchId
from openclaw_workers.domain.messages import DropPolicy, QueueMode, Route
from openclaw_workers.domain.outgoing import (
    NO_DELIVERY,
    ChatMessage,
    Delivery,
    OutgoingKind,
    SendDecision,
)
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.transcript import NoticeEntry, dump_entry
from openclaw_workers.store.inbox import Refused
from tests.component.store.harness import SESSION, StoreHarness

CHAT = Route(channel="telegram", account_id="bot", to="42")
OTHER_CHAT = Route(channel="telegram", account_id="bot", to="43")
SUPPRESSED = dump_entry(NoticeEntry(text="held back", level="warning"))


def to_chat(key: str = "reply", *, policy: SendDecision = "allow", always: bool = False) -> Delivery:
    kind = OutgoingKind.REPLY if key == "reply" else OutgoingKind.NOTICE
    return Delivery({"telegram": policy}, (ChatMessage(key, kind, f"the {key}", always),), SUPPRESSED)


def sent(store: StoreHarness) -> list[tuple[str, str]]:
    return sorted((each.route.to, each.text) for each in store.outgoing())


def test_a_commit_sends_the_reply_to_the_chat_of_the_message(store: StoreHarness) -> None:
    store.say("hi", route=CHAT, metadata={"replyTo": "7"})
    taken = store.take()
    store.commit(taken, delivery=to_chat())
    (message,) = store.outgoing()
    assert message.id == f"out-{taken.lease.run}-{taken.lease.fence}-reply"
    assert (message.kind, message.text, message.route) == (OutgoingKind.REPLY, "the reply", CHAT)
    assert (message.session_key, message.run_id, message.reply_to) == (SESSION, taken.lease.run, "7")


def test_a_channel_that_does_not_push_gets_nothing(store: StoreHarness) -> None:
    store.say("hi")
    store.commit(store.take(), delivery=to_chat())
    store.say("hi again", route=CHAT)
    store.commit(store.take(), delivery=NO_DELIVERY)
    assert store.outgoing() == []


def test_each_chat_that_spoke_into_the_turn_gets_the_reply_once(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    taken = store.take()
    store.say("two", route=OTHER_CHAT, mode=QueueMode.STEER)
    store.say("three", route=CHAT, mode=QueueMode.STEER)
    store.say("four", mode=QueueMode.STEER)
    store.turns().step(taken.lease, 1, [], may_steer=True)
    store.commit(taken, delivery=to_chat())
    assert sent(store) == [("42", "the reply"), ("43", "the reply")]


@pytest.mark.parametrize(
    ("rules", "own", "allowed"),
    [
        ("allow", None, True),
        ("deny", None, False),
        ("allow", "deny", False),
        ("deny", "allow", True),
    ],
)
def test_the_row_wins_over_the_rules(store: StoreHarness, rules: SendDecision, own: str | None, allowed: bool) -> None:
    store.say("hi", route=CHAT)
    taken = store.take()
    if own:
        store.sessions.patch(SESSION, {"sendPolicy": own})  # while the turn runs
    store.commit(taken, delivery=to_chat(policy=rules))
    notices = [entry.text for entry in store.log() if isinstance(entry, NoticeEntry)]
    assert len(store.outgoing()) == allowed
    assert store.run(taken.lease.run).suppressed is not allowed
    assert notices == ([] if allowed else ["held back"])


def test_the_answer_to_a_command_is_always_sent(store: StoreHarness) -> None:
    store.say("/new", kind="command", route=CHAT)
    taken = store.take()
    store.commit(taken, delivery=to_chat(policy="deny", always=True), reset=True)
    assert sent(store) == [("42", "the reply")]
    assert not store.run(taken.lease.run).suppressed


def test_a_denied_notice_is_no_suppressed_reply(store: StoreHarness) -> None:
    store.say("hi", route=CHAT)
    taken = store.take()
    store.commit(taken, delivery=to_chat("failed", policy="deny"))
    assert store.outgoing() == []
    assert not store.run(taken.lease.run).suppressed


def test_a_stale_session_tells_its_chat_that_it_was_reset(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.commit(store.take(delivery=to_chat("reset")))
    assert store.outgoing() == []
    store.say("two", route=CHAT)
    taken = store.take_stale(delivery=to_chat("reset"))
    (message,) = store.outgoing()
    assert (message.id, message.text) == (f"out-{taken.lease.run}-reset", "the reset")


def test_dropped_messages_are_reported_once_per_run(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    taken = store.take()
    for text in ("two", "three", "four"):
        store.say(text, cap=1, route=CHAT, to_chat=to_chat("dropped"))
    assert sent(store) == [("42", "the dropped")]

    store.commit(taken)
    store.take()
    for text in ("five", "six"):
        store.say(text, cap=1, route=CHAT, to_chat=to_chat("dropped"))
    assert len(store.outgoing()) == 2


def test_a_dropped_message_is_asked_to_its_own_chat(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    store.say("two", cap=1, route=CHAT)
    store.say("three", cap=1, to_chat=to_chat("dropped"))
    assert sent(store) == [("42", "the dropped")]


@pytest.mark.parametrize(
    ("why", "mode", "drop"),
    [("busy", QueueMode.REJECT, DropPolicy.OLD), ("full", QueueMode.COLLECT, DropPolicy.NEW)],
)
def test_rejected_messages_are_reported_once_per_run(
    store: StoreHarness, why: str, mode: QueueMode, drop: DropPolicy
) -> None:
    store.say("one", route=CHAT)
    store.take()
    store.say("two", route=CHAT)
    for text in ("three", "four"):
        refused = store.say(text, cap=1, mode=mode, drop=drop, route=CHAT, to_chat=to_chat(why))
        assert refused == Refused(why)
    assert sent(store) == [("42", f"the {why}")]


def test_cancelled_messages_are_reported(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.take()
    store.say("two", route=CHAT)
    store.say("three", route=OTHER_CHAT)
    store.stop(to_chat=to_chat("stopped"))
    assert sent(store) == [("42", "the stopped"), ("43", "the stopped")]
    store.stop(to_chat=to_chat("stopped"))
    assert len(store.outgoing()) == 2


def test_a_reset_by_hand_tells_the_chats_that_wait(store: StoreHarness) -> None:
    store.say("one", route=OTHER_CHAT)
    store.commit(store.take())
    store.say("two", route=CHAT)
    store.take()
    store.sessions.reset(SESSION, Lane.MAIN, cap=0, to_chat=to_chat("reset"))
    assert sent(store) == [("42", "the reset")]


def test_a_reset_of_an_idle_session_tells_its_last_chat(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.commit(store.take())
    store.sessions.reset(SESSION, Lane.MAIN, cap=0, to_chat=to_chat("reset"))
    assert sent(store) == [("42", "the reset")]


def test_a_deleted_session_tells_only_chats_that_wait(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.commit(store.take())
    store.sessions.delete(SESSION, Lane.MAIN, cap=0, to_chat=to_chat("deleted"))
    assert store.outgoing() == []
    store.say("two", route=CHAT)
    store.sessions.delete(SESSION, Lane.MAIN, cap=0, to_chat=to_chat("deleted"))
    assert sent(store) == [("42", "the deleted")]


def test_results_that_come_after_a_reset_are_reported_in_the_chat(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    store.redis.hset(store.keys.row(SESSION), "sessionId", "another")
    store.commit(store.take(session=store.run("run-a").session_key, run="run-a"))
    announced = store.announce(to_chat=to_chat("late"))
    assert announced is not None
    assert announced.how == "archived"
    assert sent(store) == [("42", "the late")]


def test_results_that_cannot_be_delivered_are_reported_once(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    for _ in range(2):
        store.tree.block(BatchId("batch-1"), "no room", to_chat=lambda session: to_chat("blocked"))
    assert sent(store) == [("42", "the blocked")]


def test_a_message_that_cannot_be_read_does_not_break_the_commit(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    inbox = store.keys.inbox(SESSION)
    store.redis.delete(inbox)
    store.redis.zadd(inbox, {json.dumps({"id": "one", "route": "nowhere"}): 1})
    store.commit(store.take(), delivery=to_chat())
    assert store.outgoing() == []
