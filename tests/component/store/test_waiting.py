"""A run that waits for another session's answer: it parks, holds nothing, and is woken once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openclaw_workers.domain.ids import BatchId, MessageId, SessionKey, new_run_id, new_session_id
from openclaw_workers.domain.messages import InboundMessage, MessageState, QueueMode
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock
from openclaw_workers.domain.tree import AnnounceMode, BatchState
from openclaw_workers.store.inbox import QueueRules
from openclaw_workers.store.turn_records import Taken, WaitFor
from tests.component.store.harness import CLI, SESSION, StoreHarness, child_key, session_named

(OTHER,) = session_named("other")
ASKED = MessageId("asked")


def wait(store: StoreHarness, taken: Taken, target: SessionKey = OTHER, *, milliseconds: int = 60_000) -> bool:
    """Wait as the tool does; returns whether the run is to be woken at once instead."""
    waiting = store.exchanges.wait(target, ASKED, taken.lease.session, milliseconds)
    wait_for = WaitFor(target, ASKED, waiting.left_ms or 1)
    return store.turns().release(taken.lease, wait_for)[0]


def ask(store: StoreHarness, session: SessionKey = OTHER, metadata: dict[str, str] | None = None) -> None:
    message = InboundMessage(
        id=ASKED,
        session_key=session,
        text="what?",
        route=CLI,
        kind="internal",
        metadata={"provenance": "x", **(metadata or {})},
    )
    store.inbox.accept(
        message,
        rules=QueueRules(),
        lane=Lane.MAIN,
        agent_id="main",
        run_id=new_run_id(),
        session_id=new_session_id(),
        row_new={},
        row_each={},
    )


def test_a_run_parks_until_the_answer_is_committed(store: StoreHarness) -> None:
    store.say("go")
    asking = store.take()
    ask(store)
    assert not wait(store, asking)
    assert store.ctl("state") == "parked"
    assert (store.due_at() or 0) > store.now() + 50_000

    committed = store.commit(store.take("w2", session=OTHER), "because", worker="w2")

    assert committed.answered == (SESSION,)
    assert (store.due_at() or 0) <= store.now()
    assert store.exchanges.waiting_for(OTHER) == set()
    assert store.recover().verb == "wake"
    assert store.take().resumed


def test_an_answer_that_came_before_the_park_wakes_the_run_at_once(store: StoreHarness) -> None:
    store.say("go")
    asking = store.take()
    ask(store)
    waiting = store.exchanges.wait(OTHER, ASKED, SESSION, 60_000)
    store.commit(store.take("w2", session=OTHER), worker="w2")

    to_wake, _ = store.turns().release(asking.lease, WaitFor(OTHER, ASKED, waiting.left_ms))

    assert to_wake
    assert store.ctl("state") == "queued"
    assert store.exchanges.wait(OTHER, ASKED, SESSION, 60_000).state == "settled"


def test_a_wait_that_is_over_is_not_woken_later(store: StoreHarness) -> None:
    store.say("go")
    store.take()
    ask(store)
    store.exchanges.wait(OTHER, ASKED, SESSION, 60_000)

    assert store.exchanges.wait(OTHER, ASKED, SESSION, 0).state == "over"

    assert store.commit(store.take("w2", session=OTHER), worker="w2").answered == ()


def test_who_waits_for_a_cancelled_message_is_woken(store: StoreHarness) -> None:
    store.say("go")
    asking = store.take()
    store.say("busy", session=OTHER)
    store.take("w2", session=OTHER)
    ask(store)
    wait(store, asking)

    store.stop(session=OTHER)
    store.exchanges.wake_waiters(OTHER)

    assert (store.due_at() or 0) <= store.now()
    waited = store.exchanges.wait(OTHER, ASKED, SESSION, 60_000)
    assert waited.receipt is not None
    assert waited.receipt.state == "cancelled"


def test_waiting_is_followed_from_session_to_session(store: StoreHarness) -> None:
    third, fourth = session_named("third", "fourth")
    for key in (OTHER, third):
        ask(store, key)
    store.exchanges.wait(OTHER, ASKED, third, 60_000)
    store.exchanges.wait(third, ASKED, fourth, 60_000)

    assert store.exchanges.waiting_for(OTHER) == {third, fourth}
    assert store.exchanges.waiting_for(fourth) == set()


@pytest.mark.parametrize(
    ("mode", "record"), [(AnnounceMode.NONE, {}), (AnnounceMode.BATCH, {"wake_on_descendant_settle": "0"})]
)
def test_a_child_that_waits_in_the_midst_of_its_turn_is_not_ended_by_its_children(
    store: StoreHarness, mode: AnnounceMode, record: dict[str, str]
) -> None:
    store.say("go")
    parent = store.take()
    store.spawn(parent, "a", record=record)
    store.commit(parent)
    child = store.take(session=child_key("a"), run="run-a")
    store.spawn(child, "b", batch="batch-2", mode=mode)
    ask(store)
    assert not wait(store, child)

    store.commit(store.take(session=child_key("b"), run="run-b"))
    announced = store.announce("batch-2")

    assert announced is not None
    assert not announced.settles_parent
    assert store.run("run-a").state is RunState.PARKED
    assert store.ctl("state", child_key("a")) == "parked"


def waited_for(store: StoreHarness) -> Taken:
    """A parent that waits, in a call, for a follow-up of its child; gives the parent's run."""
    store.say("go")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(store.take(session=child_key("a"), run="run-a"))
    store.announce()
    ask(store, child_key("a"))
    assert not wait(store, parent, child_key("a"))
    return parent


def announce_state(store: StoreHarness, run: str) -> BatchState | None:
    """How the follow-up's batch is announced, if it is."""
    announced = store.announce(f"batch-{run}")
    return announced.how if announced else None


def interrupt(store: StoreHarness) -> None:
    store.say("never mind", mode=QueueMode.INTERRUPT)


def run_out_of_time(store: StoreHarness) -> None:
    store.redis.hset(store.keys.ctl(SESSION), "state", "queued")
    store.commit(store.take(), state=RunState.TIMEOUT, reason="timeout", messages=MessageState.FAILED)


def close_a_circle(store: StoreHarness) -> None:
    store.exchanges.give_up(child_key("a"), ASKED, SESSION)


def test_a_follow_up_that_its_parent_waited_for_is_not_announced_too(store: StoreHarness) -> None:
    waited_for(store)
    follow_up = store.take(session=child_key("a"))

    store.commit(follow_up, "more")

    assert announce_state(store, follow_up.lease.run) is BatchState.NONE
    assert store.run(follow_up.lease.run).announce is AnnounceMode.NONE


def test_the_follow_up_after_it_is_announced_again(store: StoreHarness) -> None:
    waited_for(store)
    first = store.take(session=child_key("a"))
    store.commit(first, "more")
    assert announce_state(store, first.lease.run) is BatchState.NONE
    store.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000)

    store.say("and more", session=child_key("a"))
    second = store.take(session=child_key("a"))
    store.commit(second, "even more")

    assert announce_state(store, second.lease.run) is BatchState.DELIVERED
    assert store.run(second.lease.run).announce is AnnounceMode.BATCH


def test_nor_is_one_that_was_stopped_before_it_began(store: StoreHarness) -> None:
    waited_for(store)
    run = store.ctl("run", child_key("a"))

    store.stop(session=child_key("a"))

    assert announce_state(store, run) is BatchState.NONE
    assert store.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000).state == "settled"


@pytest.mark.parametrize("give_up", [interrupt, run_out_of_time, close_a_circle])
def test_a_follow_up_that_its_parent_waits_for_no_more_is_announced(
    store: StoreHarness, give_up: Callable[[StoreHarness], None]
) -> None:
    waited_for(store)
    follow_up = store.take(session=child_key("a"))

    give_up(store)
    store.commit(follow_up, "more")

    assert announce_state(store, follow_up.lease.run) is BatchState.DELIVERED


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_follow_up_that_its_parent_did_not_come_to_read_is_announced(store: StoreHarness, is_looked_at: bool) -> None:
    waited_for(store)
    follow_up = store.take(session=child_key("a"))
    store.commit(follow_up, "more")
    if is_looked_at:
        assert announce_state(store, follow_up.lease.run) is BatchState.NONE

    run_out_of_time(store)

    assert store.due_at(f"batch|batch-{follow_up.lease.run}") is not None
    assert announce_state(store, follow_up.lease.run) is BatchState.DELIVERED
    assert announce_state(store, follow_up.lease.run) is None
    assert store.run(follow_up.lease.run).announce is AnnounceMode.BATCH


def test_an_answer_is_read_when_the_calls_result_is_recorded_and_not_when_it_is_looked_at(store: StoreHarness) -> None:
    waited_for(store)
    follow_up = store.take(session=child_key("a"))
    store.commit(follow_up, "more")
    store.redis.hset(store.keys.ctl(SESSION), "state", "queued")
    parent = store.take()
    assert store.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000).state == "settled"
    store.turns().step(parent.lease, parent.step + 1, [])
    assert store.ctl("unread") != "", "nothing was recorded"

    store.turns().step(parent.lease, parent.step + 2, [AssistantEntry(content=[TextBlock(text="its result")])])

    assert store.ctl("unread") == store.ctl("waits_for") == ""
    store.commit(parent)
    assert announce_state(store, follow_up.lease.run) is BatchState.NONE


def test_an_answer_that_comes_before_the_wait_begins_is_not_announced_too(store: StoreHarness) -> None:
    store.say("go")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(store.take(session=child_key("a"), run="run-a"))
    store.announce()
    store.exchanges.expect(child_key("a"), ASKED, SESSION)
    ask(store, child_key("a"))
    follow_up = store.take(session=child_key("a"))

    store.commit(follow_up, "at once")

    assert announce_state(store, follow_up.lease.run) is BatchState.NONE
    assert store.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000).state == "settled"


def test_a_follow_up_that_a_child_did_not_come_to_read_goes_up_with_it(store: StoreHarness) -> None:
    store.say("go")
    store.spawn(store.take(), "a")
    child = store.take(session=child_key("a"), run="run-a")
    store.spawn(child, "b", batch="batch-2")
    store.commit(store.take(session=child_key("b"), run="run-b"))
    store.announce("batch-2")
    ask(store, child_key("b"))
    wait(store, child, child_key("b"))
    follow_up = store.take(session=child_key("b"))
    store.commit(follow_up, "more")
    assert announce_state(store, follow_up.lease.run) is BatchState.NONE

    store.stop(session=child_key("a"))
    store.commit(store.take(session=child_key("a")), state=RunState.KILLED, reason="killed")

    batch = store.tree.batch(BatchId(f"batch-{follow_up.lease.run}"))
    assert batch is not None
    assert (batch.state, batch.folded_into) == (BatchState.FOLDED, "run-a")
    assert store.run("run-a").settled_at is not None


def test_an_answer_in_an_exchange_is_kept_until_it_was_passed_on(store: StoreHarness) -> None:
    store.say("hi", session=OTHER)
    store.commit(store.take(session=OTHER))
    ask(store, metadata={"exchange": "x", "from": SESSION})
    taken = store.take(session=OTHER)

    committed = store.commit(taken, "because")

    relay = store.exchanges.relay(ASKED)
    assert relay is not None
    assert (relay.session, relay.text, relay.metadata["exchange"]) == (OTHER, "because", "x")
    assert committed.answered == (SESSION,)
    assert store.due_at(f"relay|{ASKED}") is not None
    store.exchanges.relayed(ASKED)
    assert store.exchanges.relay(ASKED) is None
    assert store.due_at(f"relay|{ASKED}") is None
