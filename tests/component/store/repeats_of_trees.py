"""Calls of the scripts of sub-agents and questions, each to be repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openclaw_workers.domain.ids import BatchId, MessageId
from openclaw_workers.domain.question import Question
from openclaw_workers.store.questions import Questions
from tests.component.store.harness import SESSION, StoreHarness, child_key, session_named

OTHER, THIRD = session_named("other", "third")


def spawn(store: StoreHarness) -> None:
    store.say("one")
    store.spawn(store.take(), "a", "b", "c", most_children=2)


def end_child(store: StoreHarness, name: str, **more: Any) -> None:
    store.commit(store.take(session=child_key(name), run=f"run-{name}"), text=name, **more)


def announce_to_idle(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.spawn(taken, "a")
    store.commit(taken)
    end_child(store, "a")
    store.announce()


def announce_to_parked(store: StoreHarness) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    child = store.take(session=child_key("a"), run="run-a")
    store.spawn(child, "b", batch="batch-2")
    store.commit(child)
    end_child(store, "b")
    store.announce("batch-2")


def children_stopped(store: StoreHarness) -> None:
    store.say("one")
    store.spawn(store.take(), "a")
    store.stop()
    order = store.tree.stop_order(SESSION)
    assert order is not None
    store.tree.children_stopped(SESSION, order)


def retry(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.spawn(taken, "a")
    store.commit(taken)
    end_child(store, "a")
    store.tree.block(BatchId("batch-1"), "no room")
    assert store.tree.retry(BatchId("batch-1"))


def block(store: StoreHarness) -> None:
    """A child is parked, and the results it waits for cannot be delivered."""
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    child = store.take(session=child_key("a"), run="run-a")
    store.spawn(child, "b", batch="batch-2")
    store.commit(child)
    end_child(store, "b")
    assert store.tree.block(BatchId("batch-2"), "no room") == "run-a"


def forget(store: StoreHarness) -> None:
    store.say("one")
    store.spawn(store.take(), "a")
    store.redis.delete(store.keys.batch("batch-1"))
    store.tree.forget(BatchId("batch-1"), SESSION)


def wait(store: StoreHarness) -> None:
    store.say("one")
    assert store.exchanges.wait(SESSION, MessageId("one"), OTHER, 60_000).state == "waiting"
    assert store.exchanges.wait(SESSION, MessageId("one"), OTHER, 0).state == "over"


def wake_waiters(store: StoreHarness) -> None:
    wait(store)
    store.exchanges.wait(SESSION, MessageId("one"), OTHER, 60_000)
    store.stop()
    store.exchanges.wake_waiters(SESSION)


def ask(store: StoreHarness, wait_ms: int = 60_000) -> Question:
    """A running turn asks an owner something."""
    store.say("one")
    questions = Questions(store.redis, store.keys, rewake_ms=1_000)
    record = {"kind": "approval", "text": "May it?", "choices": "[]", "patterns": "[]"}
    questions.ask(store.take().lease, "q-1", record, wait_ms=wait_ms, once=True)
    found = questions.get("q-1")
    assert found is not None
    return found


def ask_new(store: StoreHarness) -> None:
    store.say("one")
    record = {"kind": "ask", "text": "Which?", "choices": '["a"]'}
    questions = Questions(store.redis, store.keys, rewake_ms=1_000)
    assert questions.ask(store.take().lease, "q-1", record, wait_ms=60_000, once=False).state == "waiting"


def ask_expired(store: StoreHarness) -> None:
    store.say("one")
    lease, record = store.take().lease, {"kind": "approval", "text": "May it?", "choices": "[]"}
    questions = Questions(store.redis, store.keys, rewake_ms=1_000)
    questions.ask(lease, "q-1", record, wait_ms=60_000, once=True)
    store.redis.hset(store.keys.question("q-1"), "expires_at", 1)
    assert questions.ask(lease, "q-1", record, wait_ms=60_000, once=True).state == "expired"


def answer(store: StoreHarness) -> None:
    question = ask(store)
    questions = Questions(store.redis, store.keys, rewake_ms=1_000)
    assert questions.answer(question, "allow-once", "Ann").state == "answered"


CASES: dict[str, list[Callable[[StoreHarness], object]]] = {
    "spawn": [spawn],
    "announce": [announce_to_idle, announce_to_parked],
    "children_stopped": [children_stopped],
    "retry_announce": [retry],
    "block_batch": [block],
    "forget": [forget],
    "wait": [wait],
    "wake_waiters": [wake_waiters],
    "ask": [ask_new, ask_expired],
    "answer": [answer],
}
