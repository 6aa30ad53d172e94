"""A script cut off by a time-out and repeated with the same arguments is applied once (rule 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from typing import Any, TypeVar

import pytest
import redis

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, WorkerId
from openclaw_workers.domain.job import Job
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.messages import DropPolicy, QueueMode, Route
from openclaw_workers.domain.outgoing import ChatMessage, Delivery, OutgoingKind, OutgoingMessage
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.domain.question import Question
from openclaw_workers.domain.runs import Lane, ModelAttempt
from openclaw_workers.domain.schedule import Every
from openclaw_workers.domain.system_event import SystemEvent
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.errors import FailureReason, StoreFull, StoreUnavailable
from openclaw_workers.store import client as connection
from openclaw_workers.store.channels import ChannelAccount, Channels, WantedThread
from openclaw_workers.store.client import connect, run_script
from openclaw_workers.store.configs import NO_VERSION, ConfigDocument, Configs
from openclaw_workers.store.group_context import ContextMessage, GroupContext
from openclaw_workers.store.inbox import Refused
from openclaw_workers.store.ingresses import Ingresses
from openclaw_workers.store.llm.cooldowns import Cooldowns
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.llm.rate_limits import Amounts, Budget, Limit, RateLimits
from openclaw_workers.store.memory_vectors import MemoryVectors
from openclaw_workers.store.moves import Move, Moves
from openclaw_workers.store.outbox_records import Account, Claim, PartOutcome
from openclaw_workers.store.pairing import Pairings
from openclaw_workers.store.place_requests import PlaceRequests
from openclaw_workers.store.questions import Questions
from openclaw_workers.store.schedules import Schedules
from openclaw_workers.store.scripts import REFUSED_WHEN_FULL, script_source
from openclaw_workers.store.tokens import Tokens
from openclaw_workers.store.uploads import Uploads
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import HERE, SESSION, StoreHarness, child_key, session_named, took
from tests.component.store.snapshot import Snapshot, snapshot
from tests.support.redis_server import RedisServer

T = TypeVar("T")

CHAT = Route(channel="telegram", account_id="bot", to="42")
BOT = Account("telegram", "bot")
SAID = AssistantEntry(content=[TextBlock(text="said")])
OTHER, THIRD = session_named("other", "third")
ADA = Subject("telegram", person_id="7")


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


def rescue_crashed(store: StoreHarness) -> None:
    store.say("one")
    store.take()
    store.crash()


def rescue_given_up(store: StoreHarness) -> None:
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


def cooldown(store: StoreHarness) -> None:
    Cooldowns(store.redis, store.keys).failed("p/main", "call-1", FailureReason.RATE_LIMIT)


def cooldown_asked_for(store: StoreHarness) -> None:
    cooldown(store)
    Cooldowns(store.redis, store.keys).failed("p/main", "call-2", FailureReason.RATE_LIMIT, 600_000)


def cooldown_ended(store: StoreHarness) -> None:
    cooldown(store)
    Cooldowns(store.redis, store.keys).succeeded("p/main", "call-2", took_ms=0)


def limit(store: StoreHarness) -> None:
    limits, one = RateLimits(store.redis, store.keys), Limit("p", concurrent=1)
    limits.ask([one], RunId("run-a"), "call-1", 5)
    limits.ask([one], RunId("run-b"), "call-2", 5)


def reserve(store: StoreHarness) -> None:
    RateLimits(store.redis, store.keys).reserve(RunId("run-a"), "call-1", Amounts(tokens=5), [Budget("day", tokens=9)])


def hold(store: StoreHarness) -> None:
    limit(store)
    reserve(store)
    held = [Limit("p", concurrent=1)], [Budget("day", tokens=9)]
    RateLimits(store.redis, store.keys).hold(RunId("run-a"), "call-1", *held, 2.0)


def book(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    run = lease.run
    limits = RateLimits(store.redis, store.keys)
    limits.reserve(run, "call-1", Amounts(tokens=5), [Budget("day", tokens=9)])
    call = ModelCall(
        id="call-1",
        at=store.now(),
        run=run,
        session=SESSION,
        agent="main",
        tree=SESSION,
        provider="p",
        model="m",
        usage=Usage(input=3, output=2),
        cost=0.5,
    )
    store.turns().record_calls(lease, LedgerEntries([call], ["day"], vain("call-1").attempts))


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


def login(store: StoreHarness) -> None:
    tokens = Tokens(store.redis, store.keys)
    token, _ = tokens.create(Scope.CHAT)
    assert tokens.redeem(tokens.login_code(token.id))


def ingress_beat(store: StoreHarness) -> None:
    Ingresses(store.redis, store.keys).beat("host/1/a", {"url": "http://127.0.0.1:1"})


def _pairings(store: StoreHarness) -> Pairings:
    return Pairings(store.redis, store.keys)


def pairing_request(store: StoreHarness) -> None:
    _pairings(store).request(ADA, name="Ada", message_id="m1")


def pairing_approve(store: StoreHarness) -> None:
    pairing_refuse(store)
    _pairings(store).approve(ADA, code="", name="Ada", has_owner=False, may_share=False, has_other=False)


def pairing_refuse(store: StoreHarness) -> None:
    _pairings(store).refuse(ADA, name="Ada", reason="not-allowed", message_id="m1")


def keep_context(store: StoreHarness) -> None:
    message = ContextMessage(message_id="m1", sender_id="7", sender_name="Ada", sent_at=1, text="hi")
    GroupContext(store.redis, store.keys).keep(SESSION, message, 5)


def seed(store: StoreHarness) -> None:
    entries = [AssistantEntry(content=[TextBlock(text="hello")])]
    store.sessions.seed(session_named("seeded")[0], entries, row={"sessionKind": "main"}, keep_seconds=60)


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


def put(store: StoreHarness) -> None:
    for each in ("a", "b"):
        store.outbox.put(OutgoingMessage(id=each, kind=OutgoingKind.REPLY, route=CHAT, text=each))


def claimed(store: StoreHarness) -> Claim:
    put(store)
    (claim,) = store.outbox.claim([BOT], lease_ms=5_000, most=1).claims
    return claim


def outbox_sort(store: StoreHarness) -> None:
    put(store)
    store.outbox.sort()


def outbox_sending(store: StoreHarness) -> None:
    store.outbox.sending(claimed(store), 0, ["{}", "{}"], lease_ms=5_000)


def outbox_record(outcome: PartOutcome) -> Callable[[StoreHarness], None]:
    def record(store: StoreHarness) -> None:
        claim = claimed(store)
        store.outbox.sending(claim, 0, ["{}"], lease_ms=5_000)
        store.outbox.record(claim, 0, outcome, lease_ms=5_000, delay_ms=1000)

    return record


def outbox_renew(store: StoreHarness) -> None:
    store.outbox.renew([claimed(store)], lease_ms=5_000)


def outbox_release(store: StoreHarness) -> None:
    store.outbox.release([claimed(store)])


def outbox_retry(store: StoreHarness) -> None:
    outbox_record(PartOutcome.UNKNOWN)(store)
    store.outbox.retry("a")


def outbox_drop(store: StoreHarness) -> None:
    put(store)
    store.outbox.drop("a")


def store_chunk(store: StoreHarness) -> None:
    store.outbox.files.store("a", "text/plain", b"a")


def store_upload(store: StoreHarness) -> None:
    Uploads(store.redis, store.keys).store(b"a", "upload")


def memory_lease(store: StoreHarness) -> None:
    PlaceRequests(store.redis, store.keys).lease("place", "token", 60_000)


def memory_lease_given_up(store: StoreHarness) -> None:
    memory_lease(store)
    PlaceRequests(store.redis, store.keys).lease("place", "token", 0)


def memory_vectors(store: StoreHarness) -> None:
    MemoryVectors(store.redis, store.keys, max_entries=1).put("model", {"a": [1.0], "b": [2.0]})


JOB = Job(id="tea", schedule=Every(every=60_000, anchor=0), session_target="main", message="tea")


def _schedules(store: StoreHarness) -> Schedules:
    return Schedules(store.redis, store.keys, log_entries=5)


def job_put(store: StoreHarness) -> None:
    _schedules(store).declare(JOB, 60_000)


def job_pause(store: StoreHarness) -> None:
    job_put(store)
    _schedules(store).pause("tea", "by hand")


def job_remove(store: StoreHarness) -> None:
    job_put(store)
    _schedules(store).remove("tea")


def job_skip(store: StoreHarness) -> None:
    job_put(store)
    _schedules(store).skip("tea", 60_000, 120_000, state="missed", reason="late")


def job_settle(store: StoreHarness) -> None:
    job_put(store)
    store.redis.hset(store.keys.job_firings("tea"), "60000", '{"session": "s", "message": "m", "at": 1}')
    _schedules(store).settle("tea", 60_000, state="error", reason="x", is_transient=True)


BOT_ACCOUNT = ChannelAccount("telegram", "default")
WANTED = WantedThread(SESSION, Route(channel="telegram", account_id="default", to="-100", thread_id="sub-1234"))


def channel_claim(store: StoreHarness) -> None:
    Channels(store.redis, store.keys).claim(BOT_ACCOUNT, "a", "host/1", lease_ms=5_000)


def channel_receive(store: StoreHarness) -> None:
    channel_claim(store)
    Channels(store.redis, store.keys).receive(BOT_ACCOUNT, {7: "{}"}, token="a", offset=8)


def channel_refuse(store: StoreHarness) -> None:
    channel_receive(store)
    Channels(store.redis, store.keys).refuse(BOT_ACCOUNT, [7], {"reason": "no"})


def bind_topic(store: StoreHarness) -> None:
    store.say("one")
    store.redis.hset(store.keys.threads, WANTED.route.address(), SESSION)
    created = WANTED.route.model_copy(update={"thread_id": "77"})
    Channels(store.redis, store.keys).bind_thread(WANTED, created)


def config_publish(store: StoreHarness) -> None:
    document = ConfigDocument(1, {"engine": {"maxSteps": 7}}, "written", {}, at=1, by="me@here", code="1")
    Configs(store.redis, store.keys).publish(document, "digest", expected=NO_VERSION)


def move_begin(store: StoreHarness) -> Move:
    store.redis.hset(store.keys.places, "main", "a" * 32)
    return Moves(store.redis, store.keys).begin("main", "two", "b" * 32, with_files=True, move_id="m1")


def move_end(store: StoreHarness) -> None:
    moves, move = Moves(store.redis, store.keys), move_begin(store)
    store.redis.sadd(store.keys.place_waits("moving m1"), SESSION)
    moves.end(move, "done")


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
    "rescue": [rescue_crashed, rescue_given_up],
    "reset": [reset, reset_in_chat, delete],
    "patch_row": [patch_row],
    "spawn": [spawn],
    "announce": [announce_to_idle, announce_to_parked],
    "children_stopped": [children_stopped],
    "retry": [retry],
    "block": [block],
    "forget": [forget],
    "wait": [wait],
    "wake_waiters": [wake_waiters],
    "ask": [ask_new, ask_expired],
    "answer": [answer],
    "cooldown": [cooldown, cooldown_asked_for, cooldown_ended],
    "limit": [limit],
    "reserve": [reserve],
    "hold": [hold],
    "record_calls": [book],
    "claim_archive": [claim_archive],
    "trim_archive": [trim_archive, trim_archive_whole],
    "page": [page],
    "begin": [begin],
    "seed": [seed],
    "add_event": [add_event],
    "outbox_claim": [claimed],
    "outbox_sort": [outbox_sort],
    "outbox_sending": [outbox_sending],
    "outbox_record": [outbox_record(outcome) for outcome in PartOutcome],
    "outbox_renew": [outbox_renew, outbox_release],
    "outbox_settle": [outbox_retry, outbox_drop],
    "store_chunk": [store_chunk, store_upload],
    "pairing_request": [pairing_request],
    "pairing_approve": [pairing_approve],
    "pairing_refuse": [pairing_refuse],
    "keep_context": [keep_context],
    "channel_claim": [channel_claim],
    "channel_receive": [channel_receive],
    "channel_refuse": [channel_refuse],
    "bind_topic": [bind_topic],
    "login": [login],
    "memory_lease": [memory_lease, memory_lease_given_up],
    "memory_vectors": [memory_vectors],
    "job_put": [job_put],
    "job_pause": [job_pause],
    "job_remove": [job_remove],
    "job_skip": [job_skip],
    "job_settle": [job_settle],
    "ingress_beat": [ingress_beat],
    "config_publish": [config_publish],
    "move_begin": [move_begin],
    "move_end": [move_end],
}
# Text on its way to viewers is sent once and never repeated: RedisJournal.flush drops what Redis did not take.
# Nor are single commands: whoever sends them does not learn that they failed, and does what is to be done another time.
# A message that is put into the outbox twice is dropped when it is sorted.
NEVER_REPEATED = {"emit", "write", "outbox_put"}


def test_every_script_is_repeated_here() -> None:
    folder = resources.files("openclaw_workers.store") / "lua"
    scripts = {path.name.removesuffix(".lua") for path in folder.iterdir() if path.name.endswith(".lua")}
    assert scripts == CASES.keys() | NEVER_REPEATED


@pytest.mark.parametrize(
    ("script", "act", "cap"),
    [
        (name, act, cap)
        for name, acts in CASES.items()
        for act in acts
        for cap in (0, 1)
        if cap or act not in (take_into_the_line, commit_granting)
    ],
)
def test_a_repeat_leaves_the_state_of_one_application(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, script: str, act: Callable[[StoreHarness], object], cap: int
) -> None:
    store, calls = make_store(cap=cap), list[Any]()
    run = connection._exchange

    def spy(*call: Any) -> Any:
        calls.append(call)
        return run(*call)

    monkeypatch.setattr(connection, "_exchange", spy)
    act(store)
    _, _, sent, _, _ = calls[-1]
    assert sent in script_source(script), "the case ends with its script"
    once = snapshot(store.redis)

    run(*calls[-1])

    assert but_for_wakes(snapshot(store.redis)) == but_for_wakes(once)


def but_for_wakes(state: Snapshot) -> Snapshot:
    """A second look of the sweep at a session that still waits may wake it once more; that is its work."""
    return {
        key: {name: each for name, each in value.items() if name != "wakes"} if isinstance(value, dict) else value
        for key, value in state.items()
    }


@pytest.fixture
def frozen_store(namespace: str) -> Iterator[tuple[StoreHarness, Callable[[Callable[[], T]], T]]]:
    """A store on a server of its own, and a way to call through a freeze: cut off first, then repeated."""
    with RedisServer() as server, server.client() as watcher:
        # The client of production, which never retries by itself; only its patience is shorter.
        client = connect(server.url, timeout_seconds=0.2)
        for name in CASES:
            watcher.script_load(script_source(name)[0])

        def scripts_run() -> int:
            stats: Any = watcher.info("commandstats")
            return int(stats.get("cmdstat_evalsha", {}).get("calls", 0))

        def through_a_freeze(call: Callable[[], T]) -> T:
            run_script(
                client,
                "emit",
                keys={
                    "ctl": "ctl",
                    "events": "events",
                    "run_key": "run",
                },
                args={
                    "lease": "no lease",
                    "shown": "[]",
                },
            )  # connects this thread
            before = scripts_run()
            server.stop()
            try:
                with pytest.raises(StoreUnavailable):
                    call()
            finally:
                server.cont()
            answer = call()
            assert scripts_run() == before + 2, "the call that was cut off reached Redis all the same"
            return answer

        yield StoreHarness(client, namespace), through_a_freeze
        client.close()


def test_a_whole_turn_cut_off_at_every_script_is_applied_once(
    frozen_store: tuple[StoreHarness, Callable[[Callable[[], Any]], Any]],
) -> None:
    store, through_a_freeze = frozen_store
    through_a_freeze(lambda: store.say("one", id="m1", run="run-a"))
    assert store.waiting() == ["m1"]

    taken = through_a_freeze(lambda: store.take("w1", run="run-a", nonce="n1"))
    assert (store.ctl("fence"), store.bound(), taken.lease.token) == ("1", ["m1"], "1:n1")
    store.say("two", id="m2", mode=QueueMode.STEER)

    turns, usage = store.turns("w1"), Usage(input=5)
    calls = took(taken.lease, usage)
    _, steered = through_a_freeze(lambda: turns.step(taken.lease, 1, [SAID], may_steer=True, calls=calls))
    assert [entry["messageIds"] for entry in steered] == [["m2"]]

    calls = took(taken.lease, usage, 2)
    assert through_a_freeze(lambda: turns.release(taken.lease, calls=calls)) == (True, ())
    taken = through_a_freeze(lambda: store.take("w2", run="run-a", nonce="n2"))
    committed = through_a_freeze(lambda: store.commit(taken, worker="w2", entries=[SAID], usage=usage))

    assert committed.next_run is None
    assert [entry.role for entry in store.log()] == ["user", "assistant", "user", "assistant"]
    assert store.run("run-a").usage.input == 15
    assert (store.row()["turns"], store.ctl("attempt"), store.ctl("fence")) == ("1", "1", "2")
    assert store.states("m1", "m2") == ["answered", "answered"]


@pytest.mark.parametrize(("script", "act"), [(name, act) for name, acts in CASES.items() for act in acts])
def test_a_full_redis_carries_out_every_script_but_those_that_bring_new_work(
    redis_client: redis.Redis,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    act: Callable[[StoreHarness], None],
) -> None:
    store, carried_out = StoreHarness(redis_client, namespace, cap=1), list[str]()
    run = connection._exchange

    def full_for_this_script(held: Any, command: str, sent: str, *rest: Any) -> Any:
        if sent not in script_source(script):
            return run(held, command, sent, *rest)
        redis_client.config_set("maxmemory", 1)
        try:
            answer = run(held, command, sent, *rest)
            carried_out.append(sent)
            return answer
        finally:
            redis_client.config_set("maxmemory", 0)

    monkeypatch.setattr(connection, "_exchange", full_for_this_script)
    if script in REFUSED_WHEN_FULL:
        with pytest.raises(StoreFull):
            act(store)
        assert carried_out == []
    else:
        act(store)
        assert carried_out
