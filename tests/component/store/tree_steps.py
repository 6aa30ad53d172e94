"""Steps of a tree of runs, for tests of its scripts."""

from __future__ import annotations

import json

from openclaw_workers.domain.ids import MessageId
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.tree import AnnounceMode
from openclaw_workers.store.turn_records import Taken, WaitFor
from tests.component.store.harness import StoreHarness, child_key

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


def interrupted(store: StoreHarness) -> Taken:
    """`a` was cut short by a person's message while its own child works; gives the turn that answers the message."""
    child = tree(store)
    take_child(store, "b")
    store.say("instead", session=A, mode=QueueMode.INTERRUPT)
    assert store.commit(child, state=RunState.KILLED, reason="interrupt", next_run="run-a2").how == "unsettled"
    return take_child(store, "a", run="run-a2")
