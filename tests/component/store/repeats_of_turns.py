"""Calls of the scripts of sessions and turns, each to be repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.messages import DropPolicy, QueueMode, Route
from openclaw_workers.domain.outgoing import ChatMessage, Delivery, OutgoingKind
from openclaw_workers.domain.runs import Lane, ModelAttempt
from openclaw_workers.domain.system_event import SystemEvent
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.errors import FailureReason
from openclaw_workers.store.inbox import Refused
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from tests.component.store.harness import HERE, SESSION, StoreHarness, child_key, session_named, took
from tests.component.store.repeats_of_trees import OTHER, THIRD, end_child

CHAT = Route(channel="telegram", account_id="bot", to="42")


SAID = AssistantEntry(content=[TextBlock(text="said")])


def accept_first(store: StoreHarness) -> None:
    store.say("one", wake="wake")


def accept_waiting(store: StoreHarness) -> None:
    store.say("one")
    store.say("two", debounce_ms=1000)


def accept_summarizing(store: StoreHarness) -> None:
    store.say("one", cap=1)
    store.say("two", cap=1, drop=DropPolicy.SUMMARIZE)


def accept_refused(store: StoreHarness) -> None:
    store.say("one", cap=1)
    store.say("two", cap=1, drop=DropPolicy.NEW)


def accept_interrupt(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    store.say("two")
    store.say("three", mode=QueueMode.INTERRUPT)


def accept_without_room(store: StoreHarness) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a", most_children=1)
    store.spawn(parent, "b", batch="batch-2", most_children=2)
    store.commit(parent)
    end_child(store, "a")
    assert store.say("two", session=child_key("a"), kind="internal") == Refused("children")


def take(store: StoreHarness) -> None:
    store.say("one")
    store.say("two")
    store.take()


def take_stale(store: StoreHarness) -> None:
    store.say("one")
    store.commit(store.take())
    store.say("two")
    store.take_stale()


def take_resumed_suspect(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    store.crash()
    store.take()


def take_refused_suspect(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    store.crash()
    store.refused(may_suspect=False)


def take_into_the_line(store: StoreHarness) -> None:
    store.say("hi", session=OTHER)
    store.take(session=OTHER)
    store.say("one")
    store.refused()


def vain(call: str) -> LedgerEntries:
    """A model that did not answer, for the run record."""
    return LedgerEntries(attempts=[ModelAttempt(id=call, model="p/m", reason=FailureReason.TIMEOUT)])


def step(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two", mode=QueueMode.STEER)
    store.say("three", mode=QueueMode.STEER_BACKLOG)
    events = [{"type": "text.delta", "data": {"text": "said"}}]
    calls = replace(took(taken.lease, Usage(input=3)), attempts=vain("call-1").attempts)
    store.turns().step(taken.lease, 1, [SAID], starting="c", may_steer=True, events=events, calls=calls)


def commit(store: StoreHarness) -> None:
    store.say("one")
    usage = Usage(input=3, output=1)
    store.commit(store.take(), entries=[SAID], usage=usage, context_tokens=4, calls=vain("call-1"))


def commit_and_go_on(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two")
    store.commit(taken, entries=[SAID], wake="wake")


def commit_reset(store: StoreHarness) -> None:
    store.say("one")
    store.commit(store.take(), entries=[SAID])
    store.say("/new", kind="command")
    store.commit(store.take(), reset=True, row={"modelOverride": "script"})


def commit_granting(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    for session in (OTHER, THIRD):
        store.say("hi", session=session)
        store.refused(session=session)
    store.commit(taken)


def release(store: StoreHarness) -> None:
    store.say("one")
    store.turns().release(store.take().lease, calls=vain("call-1"))


def stop_running(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    store.say("two")
    store.stop()


def stop_queued(store: StoreHarness) -> None:
    store.say("one")
    store.stop()


def stop_one_run_with_children(store: StoreHarness) -> None:
    store.say("one", run="run-one")
    taken = store.take()
    store.spawn(taken, "a")
    store.commit(taken)
    store.say("two")
    store.stop(run="run-one", with_waiting=False)


def tick(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    store.leases.tick(WorkerId("w1"), {"host": "h"}, [lease])


def due(store: StoreHarness) -> None:
    store.redis.zadd(store.keys.due, {"archive|x": 1, "archive|y": store.now() + 60_000})
    store.due.claim()


def due_in_grace(store: StoreHarness) -> None:
    store.redis.hset(store.keys.sweep, "last", "1")
    due(store)


def recover_crashed(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    store.crash()


def recover_given_up(store: StoreHarness) -> None:
    store.say("one")
    for _ in range(3):
        store.take()
        store.crash()


def prune(store: StoreHarness) -> None:
    store.redis.hset(store.keys.suspects, "dead", "run-b")
    store.workers.prune()


def reset(store: StoreHarness) -> None:
    commit_and_go_on(store)
    store.sessions.reset(SESSION, Lane.MAIN, cap=store.cap)


def delete(store: StoreHarness) -> None:
    commit_and_go_on(store)
    store.sessions.delete(SESSION, Lane.MAIN, cap=store.cap)


def patch_row(store: StoreHarness) -> None:
    store.say("one")
    store.sessions.patch(SESSION, {"label": "x", "lastChannel": ""})


def page(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    assert len(store.reader.transcript(SESSION)) == 1


def claim_archive(store: StoreHarness) -> None:
    reset(store)
    store.archive()


def trim_archive(store: StoreHarness) -> None:
    reset(store)
    archive, _ = store.archive()
    assert store.archives.trim(archive, 1, size=7, place=HERE) == 1


def trim_archive_whole(store: StoreHarness) -> None:
    reset(store)
    archive, entries = store.archive()
    assert store.archives.trim(archive, len(entries), size=7, place=HERE) == 0


def create_temporary(store: StoreHarness) -> None:
    entries = [AssistantEntry(content=[TextBlock(text="hello")])]
    store.sessions.create_temporary(session_named("seeded")[0], entries, row={"sessionKind": "main"}, keep_seconds=60)


def begin(store: StoreHarness) -> None:
    store.sessions.begin(session_named("begun")[0], {"sessionKind": "main", "groupActivation": "always"})


def to_chat(*keys: str) -> Delivery:
    messages = tuple(ChatMessage(key, OutgoingKind.NOTICE, key) for key in keys)
    return Delivery({"telegram": "allow"}, messages, suppressed="{}")


def accept_dropped_in_chat(store: StoreHarness) -> None:
    store.say("one", cap=1, route=CHAT)
    store.say("two", cap=1, route=CHAT, to_chat=to_chat("dropped"))


def accept_refused_in_chat(store: StoreHarness) -> None:
    store.say("one", cap=1, route=CHAT)
    store.say("two", cap=1, drop=DropPolicy.NEW, route=CHAT, to_chat=to_chat("full"))


def accept_event(store: StoreHarness) -> None:
    store.say("wake", kind="internal", metadata={"provenance": "system_event"}, event=event("deployed"))


def accept_another_event(store: StoreHarness) -> None:
    accept_event(store)
    store.say("wake again", kind="internal", metadata={"provenance": "system_event"}, event=event("failed"))


def take_stale_in_chat(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.commit(store.take())
    store.system_events.add(SESSION, event("deployed"))
    store.say("two", route=CHAT)
    store.take_stale(delivery=to_chat("reset"))


def take_with_events(store: StoreHarness) -> None:
    store.say("one")
    store.system_events.add(SESSION, event("deployed"))
    store.take()


def commit_to_chat(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.commit(store.take(), delivery=to_chat("reply"))


def stop_in_chat(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.stop(to_chat=to_chat("stopped"))


def reset_in_chat(store: StoreHarness) -> None:
    store.say("one", route=CHAT)
    store.system_events.add(SESSION, event("deployed"))
    store.sessions.reset(SESSION, Lane.MAIN, cap=0, to_chat=to_chat("reset"))


def add_event(store: StoreHarness) -> None:
    store.say("one")
    store.system_events.add(SESSION, event("deployed"))


def event(text: str) -> SystemEvent:
    return SystemEvent(source="test", text=text, key=text, shown=f"[test] {text}")


CASES: dict[str, list[Callable[[StoreHarness], object]]] = {
    "accept": [
        accept_first,
        accept_waiting,
        accept_summarizing,
        accept_refused,
        accept_without_room,
        accept_interrupt,
        accept_dropped_in_chat,
        accept_refused_in_chat,
        accept_event,
        accept_another_event,
    ],
    "take": [
        take,
        take_stale,
        take_stale_in_chat,
        take_with_events,
        take_resumed_suspect,
        take_refused_suspect,
        take_into_the_line,
    ],
    "step": [step],
    "commit": [commit_to_chat, commit, commit_and_go_on, commit_reset, commit_granting],
    "release": [release],
    "stop": [stop_in_chat, stop_running, stop_queued, stop_one_run_with_children],
    "tick": [tick],
    "due": [due, due_in_grace],
    "prune": [prune],
    "recover": [recover_crashed, recover_given_up],
    "reset": [reset, reset_in_chat, delete],
    "patch_row": [patch_row],
    "claim_archive": [claim_archive],
    "trim_archive": [trim_archive, trim_archive_whole],
    "transcript_page": [page],
    "begin_session": [begin],
    "create_temporary": [create_temporary],
    "add_event": [add_event],
}
