"""A run that waits for another session's answer: it parks, holds nothing, and is woken once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openclaw_workers.models.ids import BatchId, MessageId, SessionKey, new_run_id, new_session_id
from openclaw_workers.models.messages import InboundMessage, MessageState, QueueMode
from openclaw_workers.models.runs import Lane, RunState
from openclaw_workers.models.transcript import AssistantEntry, TextBlock
from openclaw_workers.models.tree import AnnounceMode, BatchState
from openclaw_workers.store.inbox import QueueRules
from openclaw_workers.store.turns import Taken, WaitFor
from tests.unit.store.desk import CLI, SESSION, Desk, child_key, session_named

(OTHER,) = session_named("other")
ASKED = MessageId("asked")


def wait(desk: Desk, taken: Taken, target: SessionKey = OTHER, *, milliseconds: int = 60_000) -> bool:
    """Wait as the tool does; returns whether the run is to be woken at once instead."""
    waiting = desk.exchanges.wait(target, ASKED, taken.lease.session, milliseconds)
    wait_for = WaitFor(target, ASKED, waiting.left_ms or 1)
    return desk.turns().release(taken.lease, wait_for)[0]


def ask(desk: Desk, session: SessionKey = OTHER, metadata: dict[str, str] | None = None) -> None:
    message = InboundMessage(
        id=ASKED,
        session_key=session,
        text="what?",
        route=CLI,
        kind="internal",
        metadata={"provenance": "x", **(metadata or {})},
    )
    desk.inbox.accept(
        message,
        rules=QueueRules(),
        lane=Lane.MAIN,
        agent_id="main",
        run_id=new_run_id(),
        session_id=new_session_id(),
        row_new={},
        row_each={},
    )


def test_a_run_parks_until_the_answer_is_committed(desk: Desk) -> None:
    desk.say("go")
    asking = desk.take()
    ask(desk)
    assert not wait(desk, asking)
    assert desk.ctl("state") == "parked"
    assert (desk.due() or 0) > desk.now() + 50_000

    committed = desk.commit(desk.take("w2", session=OTHER), "because", worker="w2")

    assert committed.answered == (SESSION,)
    assert (desk.due() or 0) <= desk.now()
    assert desk.exchanges.waiting_for(OTHER) == set()
    assert desk.rescue().verb == "wake"
    assert desk.take().resumed


def test_an_answer_that_came_before_the_park_wakes_the_run_at_once(desk: Desk) -> None:
    desk.say("go")
    asking = desk.take()
    ask(desk)
    waiting = desk.exchanges.wait(OTHER, ASKED, SESSION, 60_000)
    desk.commit(desk.take("w2", session=OTHER), worker="w2")

    to_wake, _ = desk.turns().release(asking.lease, WaitFor(OTHER, ASKED, waiting.left_ms))

    assert to_wake
    assert desk.ctl("state") == "queued"
    assert desk.exchanges.wait(OTHER, ASKED, SESSION, 60_000).state == "settled"


def test_a_wait_that_is_over_is_not_woken_later(desk: Desk) -> None:
    desk.say("go")
    desk.take()
    ask(desk)
    desk.exchanges.wait(OTHER, ASKED, SESSION, 60_000)

    assert desk.exchanges.wait(OTHER, ASKED, SESSION, 0).state == "over"

    assert desk.commit(desk.take("w2", session=OTHER), worker="w2").answered == ()


def test_who_waits_for_a_cancelled_message_is_woken(desk: Desk) -> None:
    desk.say("go")
    asking = desk.take()
    desk.say("busy", session=OTHER)
    desk.take("w2", session=OTHER)
    ask(desk)
    wait(desk, asking)

    desk.stop(session=OTHER)
    desk.exchanges.wake_waiters(OTHER)

    assert (desk.due() or 0) <= desk.now()
    waited = desk.exchanges.wait(OTHER, ASKED, SESSION, 60_000)
    assert waited.receipt is not None
    assert waited.receipt.state == "cancelled"


def test_waiting_is_followed_from_session_to_session(desk: Desk) -> None:
    third, fourth = session_named("third", "fourth")
    for key in (OTHER, third):
        ask(desk, key)
    desk.exchanges.wait(OTHER, ASKED, third, 60_000)
    desk.exchanges.wait(third, ASKED, fourth, 60_000)

    assert desk.exchanges.waiting_for(OTHER) == {third, fourth}
    assert desk.exchanges.waiting_for(fourth) == set()


@pytest.mark.parametrize(
    ("mode", "record"), [(AnnounceMode.NONE, {}), (AnnounceMode.BATCH, {"wake_on_descendant_settle": "0"})]
)
def test_a_child_that_waits_in_the_midst_of_its_turn_is_not_ended_by_its_children(
    desk: Desk, mode: AnnounceMode, record: dict[str, str]
) -> None:
    desk.say("go")
    parent = desk.take()
    desk.spawn(parent, "a", record=record)
    desk.commit(parent)
    child = desk.take(session=child_key("a"), run="run-a")
    desk.spawn(child, "b", batch="batch-2", mode=mode)
    ask(desk)
    assert not wait(desk, child)

    desk.commit(desk.take(session=child_key("b"), run="run-b"))
    announced = desk.announce("batch-2")

    assert announced is not None
    assert not announced.settles_parent
    assert desk.run("run-a").state is RunState.PARKED
    assert desk.ctl("state", child_key("a")) == "parked"


def waited_for(desk: Desk) -> Taken:
    """A parent that waits, in a call, for a follow-up of its child; gives the parent's run."""
    desk.say("go")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(desk.take(session=child_key("a"), run="run-a"))
    desk.announce()
    ask(desk, child_key("a"))
    assert not wait(desk, parent, child_key("a"))
    return parent


def told(desk: Desk, run: str) -> BatchState | None:
    """How the follow-up's batch is announced, if it is."""
    announced = desk.announce(f"batch-{run}")
    return announced.how if announced else None


def interrupt(desk: Desk) -> None:
    desk.say("never mind", mode=QueueMode.INTERRUPT)


def run_out_of_time(desk: Desk) -> None:
    desk.redis.hset(desk.keys.ctl(SESSION), "state", "queued")
    desk.commit(desk.take(), state=RunState.TIMEOUT, reason="timeout", messages=MessageState.FAILED)


def close_a_circle(desk: Desk) -> None:
    desk.exchanges.give_up(child_key("a"), ASKED, SESSION)


def test_a_follow_up_that_its_parent_waited_for_is_not_announced_too(desk: Desk) -> None:
    waited_for(desk)
    follow_up = desk.take(session=child_key("a"))

    desk.commit(follow_up, "more")

    assert told(desk, follow_up.lease.run) is BatchState.NONE
    assert desk.run(follow_up.lease.run).announce is AnnounceMode.NONE


def test_the_follow_up_after_it_is_announced_again(desk: Desk) -> None:
    waited_for(desk)
    first = desk.take(session=child_key("a"))
    desk.commit(first, "more")
    assert told(desk, first.lease.run) is BatchState.NONE
    desk.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000)

    desk.say("and more", session=child_key("a"))
    second = desk.take(session=child_key("a"))
    desk.commit(second, "even more")

    assert told(desk, second.lease.run) is BatchState.DELIVERED
    assert desk.run(second.lease.run).announce is AnnounceMode.BATCH


def test_nor_is_one_that_was_stopped_before_it_began(desk: Desk) -> None:
    waited_for(desk)
    run = desk.ctl("run", child_key("a"))

    desk.stop(session=child_key("a"))

    assert told(desk, run) is BatchState.NONE
    assert desk.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000).state == "settled"


@pytest.mark.parametrize("give_up", [interrupt, run_out_of_time, close_a_circle])
def test_a_follow_up_that_its_parent_waits_for_no_more_is_announced(
    desk: Desk, give_up: Callable[[Desk], None]
) -> None:
    waited_for(desk)
    follow_up = desk.take(session=child_key("a"))

    give_up(desk)
    desk.commit(follow_up, "more")

    assert told(desk, follow_up.lease.run) is BatchState.DELIVERED


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_follow_up_that_its_parent_did_not_come_to_read_is_announced(desk: Desk, is_looked_at: bool) -> None:
    waited_for(desk)
    follow_up = desk.take(session=child_key("a"))
    desk.commit(follow_up, "more")
    if is_looked_at:
        assert told(desk, follow_up.lease.run) is BatchState.NONE

    run_out_of_time(desk)

    assert desk.due(f"batch|batch-{follow_up.lease.run}") is not None
    assert told(desk, follow_up.lease.run) is BatchState.DELIVERED
    assert told(desk, follow_up.lease.run) is None
    assert desk.run(follow_up.lease.run).announce is AnnounceMode.BATCH


def test_an_answer_is_read_when_the_calls_result_is_recorded_and_not_when_it_is_looked_at(desk: Desk) -> None:
    waited_for(desk)
    follow_up = desk.take(session=child_key("a"))
    desk.commit(follow_up, "more")
    desk.redis.hset(desk.keys.ctl(SESSION), "state", "queued")
    parent = desk.take()
    assert desk.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000).state == "settled"
    desk.turns().step(parent.lease, parent.step + 1, [])
    assert desk.ctl("unread") != "", "nothing was recorded"

    desk.turns().step(parent.lease, parent.step + 2, [AssistantEntry(content=[TextBlock(text="its result")])])

    assert desk.ctl("unread") == desk.ctl("waits_for") == ""
    desk.commit(parent)
    assert told(desk, follow_up.lease.run) is BatchState.NONE


def test_an_answer_that_comes_before_the_wait_begins_is_not_announced_too(desk: Desk) -> None:
    desk.say("go")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(desk.take(session=child_key("a"), run="run-a"))
    desk.announce()
    desk.exchanges.expect(child_key("a"), ASKED, SESSION)
    ask(desk, child_key("a"))
    follow_up = desk.take(session=child_key("a"))

    desk.commit(follow_up, "at once")

    assert told(desk, follow_up.lease.run) is BatchState.NONE
    assert desk.exchanges.wait(child_key("a"), ASKED, SESSION, 60_000).state == "settled"


def test_a_follow_up_that_a_child_did_not_come_to_read_goes_up_with_it(desk: Desk) -> None:
    desk.say("go")
    desk.spawn(desk.take(), "a")
    child = desk.take(session=child_key("a"), run="run-a")
    desk.spawn(child, "b", batch="batch-2")
    desk.commit(desk.take(session=child_key("b"), run="run-b"))
    desk.announce("batch-2")
    ask(desk, child_key("b"))
    wait(desk, child, child_key("b"))
    follow_up = desk.take(session=child_key("b"))
    desk.commit(follow_up, "more")
    assert told(desk, follow_up.lease.run) is BatchState.NONE

    desk.stop(session=child_key("a"))
    desk.commit(desk.take(session=child_key("a")), state=RunState.KILLED, reason="killed")

    batch = desk.tree.batch(BatchId(f"batch-{follow_up.lease.run}"))
    assert batch is not None
    assert (batch.state, batch.folded_into) == (BatchState.FOLDED, "run-a")
    assert desk.run("run-a").settled_at is not None


def test_an_answer_in_an_exchange_is_kept_until_it_was_passed_on(desk: Desk) -> None:
    desk.say("hi", session=OTHER)
    desk.commit(desk.take(session=OTHER))
    ask(desk, metadata={"exchange": "x", "from": SESSION})
    taken = desk.take(session=OTHER)

    committed = desk.commit(taken, "because")

    relay = desk.exchanges.relay(ASKED)
    assert relay is not None
    assert (relay.session, relay.text, relay.metadata["exchange"]) == (OTHER, "because", "x")
    assert committed.answered == (SESSION,)
    assert desk.due(f"relay|{ASKED}") is not None
    desk.exchanges.relayed(ASKED)
    assert desk.exchanges.relay(ASKED) is None
    assert desk.due(f"relay|{ASKED}") is None
