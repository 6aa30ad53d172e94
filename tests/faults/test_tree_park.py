"""Children that wait for children: parked, woken, timed out or stopped at awkward moments (I4, rules 2, 12)."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.store.turn_records import Committed
from tests.component.store.harness import StoreHarness, child_key
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import NO_SWEEP, start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.programs import Program, program, say, spawn
from tests.support.redis_server import RedisServer
from tests.support.tree import announces, batch_of, check_tree, children_of
from tests.support.waiting import eventually

ENDLESS = program(say("never", delay_ms=60_000))


def children(fleet: Fleet, session: str = "main") -> list[Run]:
    return children_of(fleet.stores, session_key(session))


def states(fleet: Fleet, session: str) -> list[RunState]:
    return [run.state for run in children(fleet, session)]


def now_ms(fleet: Fleet) -> int:
    seconds, micros = fleet.stores.redis.time()
    return int(seconds) * 1_000 + int(micros) // 1_000


def test_a_run_that_parks_while_its_last_child_ends_is_always_woken() -> None:
    """Rule 2: park and announce race on two connections, 300 times."""
    chance, seen = random.Random(300), set[str]()
    with RedisServer() as server, server.client() as mine, server.client() as other, ThreadPoolExecutor(2) as pool:
        for n in range(300):
            seen.add(park_against_announce(StoreHarness(mine, f"t{n}"), StoreHarness(other, f"t{n}"), pool, chance))
    assert seen == {"parked", "again"}, f"the race had only one outcome: {seen}"


def park_against_announce(
    store: StoreHarness, other: StoreHarness, pool: ThreadPoolExecutor, chance: random.Random
) -> str:
    store.say()
    root = store.take()
    store.spawn(root, "middle")
    store.commit(root)
    middle = store.take(session=child_key("middle"))
    store.spawn(middle, "leaf", batch="batch-2")
    leaf = store.take(session=child_key("leaf"))
    start, early, late = threading.Barrier(2), chance.uniform(0, 0.002), chance.uniform(0, 0.001)

    def park() -> Committed:
        start.wait()
        time.sleep(early)  # chance, not synchronisation
        return store.commit(middle, "waiting")

    def end() -> str:
        start.wait()
        time.sleep(late)
        other.commit(leaf, "result")
        announced = other.announce("batch-2")
        assert announced is not None
        return announced.wake or ""

    parked, woken = pool.submit(park), pool.submit(end)
    how = parked.result().how
    assert (how, woken.result()) in {("parked", "run-middle"), ("again", "")}, "the middle child is not woken"
    again = store.take(session=child_key("middle"))
    assert [user.provenance for user in store.users(child_key("middle"))] == ["task", "subagent"]
    assert store.commit(again, "middle done").how == "settled"
    assert store.announce() is not None
    return how


def test_parents_that_park_while_their_children_end_are_woken_without_the_sweep(make_fleet: MakeFleet) -> None:
    """Rules 1, 2: 300 parents on real workers. Some park before their child's result arrives, some after."""
    fleet, chance = make_fleet(NO_SWEEP), random.Random(300)
    start_workers(fleet, "main", "subagent", "service", concurrency=64)  # enough threads for all to start at once
    for number in range(10):
        close_calls(fleet, chance, [f"s{number}-{n}" for n in range(6)])


def close_calls(fleet: Fleet, chance: random.Random, roots: list[str]) -> None:
    """Five parents below each root, all at once."""
    for root in roots:
        middles = [close_call(chance) for _ in range(5)]
        fleet.send(program(spawn(*middles), say("spawned"), say("heard")), root)
    parked: list[bool] = []
    for root in roots:
        runs = check_tree(fleet.stores, session_key(root), within=30)
        middles_of = [run for run in runs if run.depth == 1]
        assert [run.text for run in middles_of] == ["middle done"] * 5
        assert len(announces(fleet.transcript(root))) == 1
        parked += [waited for run in middles_of for waited in waits(fleet, run)]
    assert (parked.count(True) > 0, parked.count(False) > 0) == (True, True), "the race had only one outcome"


def close_call(chance: random.Random) -> Program:
    leaf = program(say("leaf", delay_ms=300))
    said_after = chance.choice([250, 300, 350, 400, 600, 4_000]) + chance.randint(0, 50)
    return program(spawn(leaf), say("waiting", delay_ms=said_after), say("middle done"))


def waits(fleet: Fleet, run: Run) -> list[bool]:
    """For each turn that did not end the run: whether a batch was still pending."""
    events = fleet.stores.reader.events(run.session_key, "0")
    return [event.data["batches"] > 0 for event in events if event.type == "run.parked"]


def test_a_parked_child_timed_out_or_stopped_is_announced_within_three_seconds(fleet: Fleet) -> None:
    """I4, rule 12: its children are stopped first, and their results fold into its announce."""
    start_workers(fleet, "main", "subagent", "service")
    middle = program(spawn(ENDLESS, ENDLESS), say("waiting"), say("never"))
    fleet.send(program(spawn(middle, runTimeoutSeconds=3), say("spawned"), say("heard")), "timed")
    fleet.send(program(spawn(middle), say("spawned"), say("heard")), "stopped")
    for root in ("timed", "stopped"):
        eventually(lambda root=root: sorted(states(fleet, root)) == ["parked", "running", "running"], within=20)  # type: ignore[misc]

    stopped_at = now_ms(fleet)
    fleet.control.stop_run(children(fleet, "stopped")[0].id)
    deadline_at = children(fleet, "timed")[0].deadline_at
    assert deadline_at is not None
    for root, since, end in (("stopped", stopped_at, RunState.KILLED), ("timed", deadline_at, RunState.TIMEOUT)):
        parent, *below = check_tree(fleet.stores, session_key(root))
        announced_at = batch_of(fleet.stores, parent).announced_at
        assert announced_at is not None
        assert announced_at - since < 3_000, f"{root}: announced after {announced_at - since} ms"
        assert (parent.state, [run.state for run in below]) == (end, [RunState.KILLED] * 2)
        assert {batch_of(fleet.stores, run).state for run in below} == {BatchState.FOLDED}
        (announce,) = announces(fleet.transcript(root))
        assert announce.count("status: ") == 3
