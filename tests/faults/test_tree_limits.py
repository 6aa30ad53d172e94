"""Four workers spawn at the same time: no session and no tree ever exceeds its limit (rule 3)."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openclaw_workers.config.loader import load
from openclaw_workers.domain.ids import BatchId, RunId, SessionKey, WorkerId
from openclaw_workers.domain.runs import Lane, Run
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.stores import open_stores
from openclaw_workers.engine.tool_graph import spawner_of
from openclaw_workers.store.turn_records import ResetTimes, Taken, TurnRules
from openclaw_workers.store.turns import Turns
from openclaw_workers.tools.sessions.port import SpawnCall
from openclaw_workers.tools.sessions.spawn_input import SpawnInput
from tests.faults.conftest import MakeFleet
from tests.support.fleet import Fleet, LosingWaker, session_key
from tests.support.ocw import Gate
from tests.support.programs import Program, Step, program, say, spawn
from tests.support.waiting import eventually

WORKERS = 4
ROUNDS = 6
ROOT = session_key("main")


def limited(make_fleet: MakeFleet, **limits: int) -> Fleet:
    return make_fleet({"agents": {"defaults": {"subagents": limits}}})


class Watch(threading.Thread):
    """Polls the tree and remembers the highest counts."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(name="watch", daemon=True)
        self._fleet = fleet
        self._over = threading.Event()
        self.looks = 0
        self.most_runs = 0
        self.most_children: Counter[SessionKey] = Counter()

    def run(self) -> None:
        stores = self._fleet.stores
        while not self._over.wait(0.003):
            sessions = [ROOT, *(run.session_key for run in stores.tree.children(ROOT))]
            with stores.redis.pipeline(transaction=True) as pipe:
                pipe.zcard(stores.keys.tree(ROOT))
                for session in sessions:
                    pipe.zcard(stores.keys.live(session))
                runs, *children = pipe.execute()
            self.most_runs = max(self.most_runs, runs)
            for session, count in zip(sessions, children, strict=True):
                self.most_children[session] = max(self.most_children[session], count)
            self.looks += 1

    def stop(self) -> None:
        self._over.set()
        self.join(10)


@contextmanager
def watching(fleet: Fleet) -> Iterator[Watch]:
    watch = Watch(fleet)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def most_at_once(runs: list[Run]) -> int:
    """How many runs were unsettled at the same time, according to their records."""
    moments = [(run.queued_at, 1) for run in runs]
    moments += [(run.settled_at, -1) for run in runs if run.settled_at is not None]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def families(fleet: Fleet) -> dict[SessionKey, list[Run]]:
    """The runs that each session spawned, according to their records."""
    found: defaultdict[SessionKey, list[Run]] = defaultdict(list)
    for run in fleet.runs():
        if run.requester_session_key is not None:
            found[run.requester_session_key].append(run)
    return found


def answers(fleet: Fleet, session: SessionKey) -> Counter[str]:
    """The results of its spawn calls, counted by status."""
    results = [entry for entry in fleet.transcript(session) if isinstance(entry, ToolResultEntry)]
    texts = [entry.content[0].text for entry in results if entry.tool_name == "sessions_spawn"]
    return Counter(json.loads(text)["status"] for text in texts)


def race(fleet: Fleet, middles: int, *steps: Step) -> list[Run]:
    """Spread children of the root over the workers and let all start the steps at the same moment."""
    workers = [fleet.worker("main", wait=False), fleet.worker("service", wait=False)]
    workers += [fleet.worker("subagent", concurrency=12, wait=False) for _ in range(WORKERS)]
    fleet.ready(*workers)
    gate = Gate(fleet, "start")
    middle = program(gate.step, *steps, say("waiting"), say("done"))
    fleet.send(program(spawn(*[middle] * middles), say("spawned"), say("heard")))
    children = eventually(lambda: _at_the_gate(fleet, middles), within=60)
    gate.open()
    return children


def _at_the_gate(fleet: Fleet, count: int) -> list[Run] | None:
    children = fleet.stores.tree.children(ROOT)
    ready = [run for run in children if len(fleet.transcript(run.session_key)) == 2]
    return children if len(ready) == count else None


def test_40_spawns_from_four_workers_fill_a_tree_to_its_limit_and_no_further(make_fleet: MakeFleet) -> None:
    """Nothing settles during the race, so exactly as many spawns as the limit allows are accepted.

    A middle child whose spawns were all refused does not settle either: that would make room for one more.
    """
    fleet = limited(make_fleet, maxChildrenPerAgent=8, maxTreeRuns=28)
    never = say("never", delay_ms=600_000)
    endless: Program = program(never)
    with watching(fleet) as watch:
        middles = race(fleet, 8, *[spawn(endless)] * 5, never)
        counts = eventually(lambda: _all_answered(fleet, middles, 40), within=60)
        assert counts == Counter(accepted=20, forbidden=20)
        assert sum(len(family) for family in families(fleet).values()) == 28
        assert len({attempt.worker for run in middles for attempt in fleet.run(run.id).attempts}) == WORKERS
        fleet.control.stop_session(ROOT)
        eventually(lambda: fleet.stores.tree.counts(ROOT, ROOT) == (0, 0), within=30)

    assert watch.looks > 100
    assert watch.most_runs == 28
    assert most_at_once([run for family in families(fleet).values() for run in family]) == 28


def _all_answered(fleet: Fleet, middles: list[Run], count: int) -> Counter[str] | None:
    answered: Counter[str] = Counter()
    for run in middles:
        answered += answers(fleet, run.session_key)
    return answered if answered.total() == count else None


def test_40_spawns_while_others_settle_never_exceed_either_limit(make_fleet: MakeFleet) -> None:
    """Both limits are reached again and again, because children settle all the time."""
    fleet = limited(make_fleet, maxChildrenPerAgent=4, maxTreeRuns=12)
    quick = program(say("leaf", delay_ms=60))
    with watching(fleet) as watch:
        middles = race(fleet, WORKERS, spawn(*[quick] * 5), *[spawn(quick)] * 5)
        eventually(lambda: fleet.stores.tree.counts(ROOT, ROOT) == (0, 0), within=60)

    counts = _all_answered(fleet, middles, 40)
    assert counts is not None
    assert counts["forbidden"] > 0
    assert counts["accepted"] == sum(len(families(fleet)[run.session_key]) for run in middles)
    assert watch.looks > 100
    assert watch.most_runs <= 12
    assert max(watch.most_children.values()) <= 4
    for family in families(fleet).values():
        assert most_at_once(family) <= 4
    assert most_at_once([run for family in families(fleet).values() for run in family]) <= 12


def test_40_spawns_of_one_session_from_four_processes_stop_at_its_limit(make_fleet: MakeFleet) -> None:
    """A lease lets one worker at a time act for a session; even with four at once, the limit holds."""
    fleet = limited(make_fleet, maxChildrenPerAgent=5, maxTreeRuns=50)
    rounds = [[take(fleet, f"one-{n}")] * WORKERS for n in range(ROUNDS)]

    assert spawn_at_once(fleet, rounds) == [Counter(accepted=5, forbidden=35)] * ROUNDS
    assert {len(family) for family in families(fleet).values()} == {5}


def test_40_spawns_of_one_tree_from_four_processes_stop_at_its_limit(make_fleet: MakeFleet) -> None:
    fleet = limited(make_fleet, maxChildrenPerAgent=10, maxTreeRuns=20)
    rounds = [[take(fleet, f"{n}-{w}", root=f"tree-{n}") for w in range(WORKERS)] for n in range(ROUNDS)]

    assert spawn_at_once(fleet, rounds) == [Counter(accepted=20, forbidden=20)] * ROUNDS
    trees = Counter(run.root_session_key for family in families(fleet).values() for run in family)
    assert set(trees.values()) == {20}


def take(fleet: Fleet, session: str, root: str = "") -> Taken:
    """Take a turn in this process, as no worker runs."""
    queued = fleet.send(program(say("parent")), session, lose_wake_up=True)
    assert queued.run is not None
    rules = TurnRules(600_000, 600_000, 600_000)
    turns = Turns(fleet.stores.redis, fleet.stores.keys, WorkerId("host/1/test"), rules, fleet.stores.caps)
    key, freshness = queued.session_key, {"": ResetTimes()}
    taken = turns.take(key, queued.run, Lane.MAIN, nonce="n", time_ms=600_000, freshness=freshness, may_suspect=True)
    assert isinstance(taken, Taken)
    return replace(taken, row={**taken.row, "rootSessionKey": session_key(root)}) if root else taken


def spawn_at_once(fleet: Fleet, rounds: list[list[Taken]]) -> list[Counter[str]]:
    """In each round, four processes spawn ten children each; returns the results of each round, counted by status.

    A race can only go wrong in the few moments around the limit, so there are many rounds.
    """
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(WORKERS), context.Queue()
    where = Where(fleet.config_path, fleet.state_dir, fleet.redis_server.url)
    parts = [[parents[number] for parents in rounds] for number in range(WORKERS)]
    racers = [context.Process(target=spawn_in_turn, args=(where, n, parts[n], start, results)) for n in range(WORKERS)]
    for racer in racers:
        racer.start()
    statuses = [results.get(timeout=180) for _ in racers]
    for racer in racers:
        racer.join(30)
    return [Counter(word for words in each for word in words) for each in zip(*statuses, strict=True)]


@dataclass(frozen=True, slots=True)
class Where:
    """What another process needs to find the fleet."""

    config: Path
    state_dir: Path
    redis_url: str


def spawn_in_turn(where: Where, number: int, parents: list[Taken], start: Any, results: Any) -> None:
    """The work of one process: each spawn is an assistant message of its own."""
    loaded = load(where.config, env={}, state_dir=where.state_dir)
    stores = open_stores(loaded.settings, where.redis_url)
    agents = AgentConfigs(loaded.settings, loaded.state_dir, default_model="offline/script")
    spawner = spawner_of(stores, SilentWaker(), loaded, agents, lambda taken: loaded.state_dir)
    words = []
    for parent in map(spawner.parent, parents):
        calls = [SpawnCall(f"call-{number}-{n}", SpawnInput(task="x")) for n in range(10)]
        start.wait(180)
        words.append([json.loads(spawner.spawn(parent, [call])[0])["status"] for call in calls])
    results.put(words)


class SilentWaker(LosingWaker):
    """Publishes nothing: the tests count registered children."""

    def __init__(self) -> None:
        """It needs no broker."""

    def chord(self, batch: BatchId, headers: Sequence[tuple[SessionKey, RunId]]) -> bool:
        return False
