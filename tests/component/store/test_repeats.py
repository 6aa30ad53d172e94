"""A script cut off by a time-out and repeated with the same arguments is applied once (rule 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any, TypeVar

import pytest
import redis

from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import StoreFull, StoreUnavailable
from openclaw_workers.store import client as connection
from openclaw_workers.store.client import connect, run_script
from openclaw_workers.store.scripts import REFUSED_WHEN_FULL, script_source
from tests.component.store import repeats_of_edges, repeats_of_trees, repeats_of_turns
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import StoreHarness, took
from tests.component.store.repeats_of_turns import SAID, commit_granting, take_into_the_line
from tests.component.store.snapshot import Snapshot, snapshot
from tests.support.redis_server import RedisServer

T = TypeVar("T")


CASES = {**repeats_of_turns.CASES, **repeats_of_trees.CASES, **repeats_of_edges.CASES}


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
