"""A script cut off by a time-out and repeated with the same arguments is applied once (rule 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from typing import Any, TypeVar

import pytest
import redis

from openclaw_workers.errors import FailureReason, StoreFull, StoreUnavailable
from openclaw_workers.models.ids import BatchId, MessageId, RunId, WorkerId
from openclaw_workers.models.ledger import ModelCall
from openclaw_workers.models.messages import DropPolicy, QueueMode
from openclaw_workers.models.runs import Lane, ModelAttempt
from openclaw_workers.models.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.store import connection
from openclaw_workers.store.books import Books
from openclaw_workers.store.connection import REFUSED_WHEN_FULL, connect, run_script, script_source
from openclaw_workers.store.health import Health
from openclaw_workers.store.inbox import Refused
from openclaw_workers.store.limits import Amounts, Budget, Limit, Limits
from tests.support.redis_server import RedisServer
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import HERE, SESSION, Desk, child_key, session_named, took
from tests.unit.store.snapshot import Snapshot, snapshot

T = TypeVar("T")

SAID = AssistantEntry(content=[TextBlock(text="said")])
OTHER, THIRD = session_named("other", "third")


def accept_first(desk: Desk) -> None:
    desk.say("one", wake="wake")


def accept_waiting(desk: Desk) -> None:
    desk.say("one")
    desk.say("two", debounce_ms=1000)


def accept_summarizing(desk: Desk) -> None:
    desk.say("one", cap=1)
    desk.say("two", cap=1, drop=DropPolicy.SUMMARIZE)


def accept_refused(desk: Desk) -> None:
    desk.say("one", cap=1)
    desk.say("two", cap=1, drop=DropPolicy.NEW)


def accept_interrupt(desk: Desk) -> None:
    desk.say("one")
    desk.take()
    desk.say("two")
    desk.say("three", mode=QueueMode.INTERRUPT)


def accept_without_room(desk: Desk) -> None:
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a", most_children=1)
    desk.spawn(parent, "b", batch="batch-2", most_children=2)
    desk.commit(parent)
    end_child(desk, "a")
    assert desk.say("two", session=child_key("a"), kind="internal") == Refused("children")


def take(desk: Desk) -> None:
    desk.say("one")
    desk.say("two")
    desk.take()


def take_stale(desk: Desk) -> None:
    desk.say("one")
    desk.commit(desk.take())
    desk.say("two")
    desk.take_stale()


def take_resumed_suspect(desk: Desk) -> None:
    desk.say("one")
    desk.take()
    desk.crash()
    desk.take()


def take_refused_suspect(desk: Desk) -> None:
    desk.say("one")
    desk.take()
    desk.crash()
    desk.refused(may_suspect=False)


def take_into_the_line(desk: Desk) -> None:
    desk.say("hi", session=OTHER)
    desk.take(session=OTHER)
    desk.say("one")
    desk.refused()


def vain(call: str) -> Books:
    """A model that did not answer, for the run record."""
    return Books(attempts=[ModelAttempt(id=call, model="p/m", reason=FailureReason.TIMEOUT)])


def step(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two", mode=QueueMode.STEER)
    desk.say("three", mode=QueueMode.STEER_BACKLOG)
    events = [{"type": "text.delta", "data": {"text": "said"}}]
    books = replace(took(taken.lease, Usage(input=3)), attempts=vain("call-1").attempts)
    desk.turns().step(taken.lease, 1, [SAID], starting="c", may_steer=True, events=events, books=books)


def commit(desk: Desk) -> None:
    desk.say("one")
    usage = Usage(input=3, output=1)
    desk.commit(desk.take(), entries=[SAID], usage=usage, context_tokens=4, books=vain("call-1"))


def commit_and_go_on(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two")
    desk.commit(taken, entries=[SAID], wake="wake")


def commit_reset(desk: Desk) -> None:
    desk.say("one")
    desk.commit(desk.take(), entries=[SAID])
    desk.say("/new", kind="command")
    desk.commit(desk.take(), reset=True, row={"modelOverride": "script"})


def commit_granting(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    for session in (OTHER, THIRD):
        desk.say("hi", session=session)
        desk.refused(session=session)
    desk.commit(taken)


def release(desk: Desk) -> None:
    desk.say("one")
    desk.turns().release(desk.take().lease, books=vain("call-1"))


def stop_running(desk: Desk) -> None:
    desk.say("one")
    desk.take()
    desk.say("two")
    desk.stop()


def stop_queued(desk: Desk) -> None:
    desk.say("one")
    desk.stop()


def stop_one_run_with_children(desk: Desk) -> None:
    desk.say("one", run="run-one")
    taken = desk.take()
    desk.spawn(taken, "a")
    desk.commit(taken)
    desk.say("two")
    desk.stop(run="run-one", with_waiting=False)


def tick(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    desk.fleet.tick(WorkerId("w1"), {"host": "h"}, [lease])


def due(desk: Desk) -> None:
    desk.redis.zadd(desk.keys.due, {"archive|x": 1, "archive|y": desk.now() + 60_000})
    desk.fleet.due()


def due_in_grace(desk: Desk) -> None:
    desk.redis.hset(desk.keys.sweep, "last", "1")
    due(desk)


def rescue_crashed(desk: Desk) -> None:
    desk.say("one")
    desk.take()
    desk.crash()


def rescue_given_up(desk: Desk) -> None:
    desk.say("one")
    for _ in range(3):
        desk.take()
        desk.crash()


def prune(desk: Desk) -> None:
    desk.redis.hset(desk.keys.suspects, "dead", "run-b")
    desk.fleet.prune()


def reset(desk: Desk) -> None:
    commit_and_go_on(desk)
    desk.sessions.reset(SESSION, Lane.MAIN, cap=desk.cap)


def delete(desk: Desk) -> None:
    commit_and_go_on(desk)
    desk.sessions.delete(SESSION, Lane.MAIN, cap=desk.cap)


def patch_row(desk: Desk) -> None:
    desk.say("one")
    desk.sessions.patch(SESSION, {"label": "x", "lastChannel": ""})


def spawn(desk: Desk) -> None:
    desk.say("one")
    desk.spawn(desk.take(), "a", "b", "c", most_children=2)


def end_child(desk: Desk, name: str, **more: Any) -> None:
    desk.commit(desk.take(session=child_key(name), run=f"run-{name}"), text=name, **more)


def announce_to_idle(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.spawn(taken, "a")
    desk.commit(taken)
    end_child(desk, "a")
    desk.announce()


def announce_to_parked(desk: Desk) -> None:
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    child = desk.take(session=child_key("a"), run="run-a")
    desk.spawn(child, "b", batch="batch-2")
    desk.commit(child)
    end_child(desk, "b")
    desk.announce("batch-2")


def reaped(desk: Desk) -> None:
    desk.say("one")
    desk.spawn(desk.take(), "a")
    desk.stop()
    order = desk.tree.reap(SESSION)
    assert order is not None
    desk.tree.reaped(SESSION, order)


def retry(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.spawn(taken, "a")
    desk.commit(taken)
    end_child(desk, "a")
    desk.tree.block(BatchId("batch-1"), "no room")
    assert desk.tree.retry(BatchId("batch-1"))


def block(desk: Desk) -> None:
    """A child is parked, and the results it waits for cannot be delivered."""
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    child = desk.take(session=child_key("a"), run="run-a")
    desk.spawn(child, "b", batch="batch-2")
    desk.commit(child)
    end_child(desk, "b")
    assert desk.tree.block(BatchId("batch-2"), "no room") == "run-a"


def forget(desk: Desk) -> None:
    desk.say("one")
    desk.spawn(desk.take(), "a")
    desk.redis.delete(desk.keys.batch("batch-1"))
    desk.tree.forget(BatchId("batch-1"), SESSION)


def wait(desk: Desk) -> None:
    desk.say("one")
    assert desk.exchanges.wait(SESSION, MessageId("one"), OTHER, 60_000).state == "waiting"
    assert desk.exchanges.wait(SESSION, MessageId("one"), OTHER, 0).state == "over"


def wake_waiters(desk: Desk) -> None:
    wait(desk)
    desk.exchanges.wait(SESSION, MessageId("one"), OTHER, 60_000)
    desk.stop()
    desk.exchanges.wake_waiters(SESSION)


def rest(desk: Desk) -> None:
    desk.say("one")
    desk.turns().rest(desk.take().lease, rests=True)


def rest_over(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    desk.turns().rest(lease, rests=True)
    desk.turns().rest(lease, rests=False)


def cooldown(desk: Desk) -> None:
    Health(desk.redis, desk.keys).failed("p/main", "call-1", FailureReason.RATE_LIMIT)


def cooldown_asked_for(desk: Desk) -> None:
    cooldown(desk)
    Health(desk.redis, desk.keys).failed("p/main", "call-2", FailureReason.RATE_LIMIT, 600_000)


def cooldown_ended(desk: Desk) -> None:
    cooldown(desk)
    Health(desk.redis, desk.keys).succeeded("p/main", "call-2", took_ms=0)


def limit(desk: Desk) -> None:
    limits, one = Limits(desk.redis, desk.keys), Limit("p", concurrent=1)
    limits.ask([one], RunId("run-a"), "call-1", 5)
    limits.ask([one], RunId("run-b"), "call-2", 5)


def reserve(desk: Desk) -> None:
    Limits(desk.redis, desk.keys).reserve(RunId("run-a"), "call-1", Amounts(tokens=5), [Budget("day", tokens=9)])


def hold(desk: Desk) -> None:
    limit(desk)
    reserve(desk)
    held = [Limit("p", concurrent=1)], [Budget("day", tokens=9)]
    Limits(desk.redis, desk.keys).hold(RunId("run-a"), "call-1", *held, 2.0)


def book(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    run = lease.run
    limits = Limits(desk.redis, desk.keys)
    limits.reserve(run, "call-1", Amounts(tokens=5), [Budget("day", tokens=9)])
    call = ModelCall(
        id="call-1",
        at=desk.now(),
        run=run,
        session=SESSION,
        agent="main",
        tree=SESSION,
        provider="p",
        model="m",
        usage=Usage(input=3, output=2),
        cost=0.5,
    )
    desk.turns().book(lease, Books([call], ["day"], vain("call-1").attempts))


def page(desk: Desk) -> None:
    desk.say("one")
    desk.take()
    assert len(desk.reader.transcript(SESSION)) == 1


def set_aside(desk: Desk) -> None:
    desk.say("one")
    desk.redis.set(desk.keys.log(SESSION), "junk")
    assert desk.sessions.set_aside(SESSION) != []


def claim_archive(desk: Desk) -> None:
    reset(desk)
    desk.archive()


def trim_archive(desk: Desk) -> None:
    reset(desk)
    archive, _ = desk.archive()
    assert desk.archives.trim(archive, 1, size=7, place=HERE) == 1


def trim_archive_whole(desk: Desk) -> None:
    reset(desk)
    archive, entries = desk.archive()
    assert desk.archives.trim(archive, len(entries), size=7, place=HERE) == 0


CASES: dict[str, list[Callable[[Desk], None]]] = {
    "accept": [accept_first, accept_waiting, accept_summarizing, accept_refused, accept_without_room, accept_interrupt],
    "take": [take, take_stale, take_resumed_suspect, take_refused_suspect, take_into_the_line],
    "step": [step],
    "commit": [commit, commit_and_go_on, commit_reset, commit_granting],
    "release": [release],
    "stop": [stop_running, stop_queued, stop_one_run_with_children],
    "tick": [tick],
    "due": [due, due_in_grace],
    "prune": [prune],
    "rescue": [rescue_crashed, rescue_given_up],
    "reset": [reset, delete],
    "patch_row": [patch_row],
    "spawn": [spawn],
    "announce": [announce_to_idle, announce_to_parked],
    "reaped": [reaped],
    "retry": [retry],
    "block": [block],
    "forget": [forget],
    "wait": [wait],
    "wake_waiters": [wake_waiters],
    "cooldown": [cooldown, cooldown_asked_for, cooldown_ended],
    "limit": [limit],
    "reserve": [reserve],
    "hold": [hold],
    "book": [book],
    "rest": [rest, rest_over],
    "set_aside": [set_aside],
    "claim_archive": [claim_archive],
    "trim_archive": [trim_archive, trim_archive_whole],
    "page": [page],
}
# Text on its way to viewers is sent once and never repeated: RedisJournal.flush drops what Redis did not take.
# Nor are single commands: whoever sends them does not learn that they failed, and does what is to be done another time.
NEVER_REPEATED = {"emit", "write"}


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
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, script: str, act: Callable[[Desk], None], cap: int
) -> None:
    desk, calls = make_desk(cap=cap), list[Any]()
    run = connection._exchange

    def spy(*call: Any) -> Any:
        calls.append(call)
        return run(*call)

    monkeypatch.setattr(connection, "_exchange", spy)
    act(desk)
    _, _, sent, _, _ = calls[-1]
    assert sent in script_source(script), "the case ends with its script"
    once = snapshot(desk.redis)

    run(*calls[-1])

    assert but_for_wakes(snapshot(desk.redis)) == but_for_wakes(once)


def but_for_wakes(state: Snapshot) -> Snapshot:
    """A second look of the sweep at a session that still waits may wake it once more; that is its work."""
    return {
        key: {name: each for name, each in value.items() if name != "wakes"} if isinstance(value, dict) else value
        for key, value in state.items()
    }


@pytest.fixture
def frozen_desk(namespace: str) -> Iterator[tuple[Desk, Callable[[Callable[[], T]], T]]]:
    """A desk on a server of its own, and a way to call through a freeze: cut off first, then repeated."""
    with RedisServer() as server, server.client() as watcher:
        # The client of production, which never retries by itself; only its patience is shorter.
        client = connect(server.url, timeout_seconds=0.2)
        for name in CASES:
            watcher.script_load(script_source(name)[0])

        def scripts_run() -> int:
            stats: Any = watcher.info("commandstats")
            return int(stats.get("cmdstat_evalsha", {}).get("calls", 0))

        def through_a_freeze(call: Callable[[], T]) -> T:
            run_script(client, "emit", ["ctl", "events", "run"], ["no lease", "[]"])  # connects this thread
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

        yield Desk(client, namespace), through_a_freeze
        client.close()


def test_a_whole_turn_cut_off_at_every_script_is_applied_once(
    frozen_desk: tuple[Desk, Callable[[Callable[[], Any]], Any]],
) -> None:
    desk, through_a_freeze = frozen_desk
    through_a_freeze(lambda: desk.say("one", id="m1", run="run-a"))
    assert desk.waiting() == ["m1"]

    taken = through_a_freeze(lambda: desk.take("w1", run="run-a", nonce="n1"))
    assert (desk.ctl("fence"), desk.bound(), taken.lease.token) == ("1", ["m1"], "1:n1")
    desk.say("two", id="m2", mode=QueueMode.STEER)

    turns, usage = desk.turns("w1"), Usage(input=5)
    books = took(taken.lease, usage)
    _, steered = through_a_freeze(lambda: turns.step(taken.lease, 1, [SAID], may_steer=True, books=books))
    assert [entry["messageIds"] for entry in steered] == [["m2"]]

    books = took(taken.lease, usage, 2)
    assert through_a_freeze(lambda: turns.release(taken.lease, books=books)) == (True, ())
    taken = through_a_freeze(lambda: desk.take("w2", run="run-a", nonce="n2"))
    committed = through_a_freeze(lambda: desk.commit(taken, worker="w2", entries=[SAID], usage=usage))

    assert committed.next_run is None
    assert [entry.role for entry in desk.log()] == ["user", "assistant", "user", "assistant"]
    assert desk.run("run-a").usage.input == 15
    assert (desk.row()["turns"], desk.ctl("attempt"), desk.ctl("fence")) == ("1", "1", "2")
    assert desk.states("m1", "m2") == ["answered", "answered"]


@pytest.mark.parametrize(("script", "act"), [(name, act) for name, acts in CASES.items() for act in acts])
def test_a_full_redis_carries_out_every_script_but_those_that_bring_new_work(
    redis_client: redis.Redis,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    act: Callable[[Desk], None],
) -> None:
    desk, carried_out = Desk(redis_client, namespace, cap=1), list[str]()
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
            act(desk)
        assert carried_out == []
    else:
        act(desk)
        assert carried_out
