"""kill -9 around a session tree: every child is announced once (I4)."""

from __future__ import annotations

import signal

import pytest

from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.store.tree import Tree
from openclaw_workers.tasks.waker import CeleryWaker
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import faulty, place, start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.programs import Program, call, mark, program, say, spawn
from tests.support.tree import announces, batch_of, check_tree, children_of
from tests.support.waiting import eventually

ROOT = session_key("main")
HEADER = place(CeleryWaker.header)
CHORD = place(CeleryWaker.chord)
REGISTER = place(Tree.spawn)
ANNOUNCE = place(Tree.announce)


def children(fleet: Fleet) -> list[Run]:
    return children_of(fleet.stores, ROOT)


def states(fleet: Fleet) -> list[RunState]:
    return [run.state for run in children_of(fleet.stores)]


def leaf(name: str, *, delay_ms: int = 0) -> Program:
    return program(call(mark(f"ran-{name}")), say(f"{name} done", delay_ms=delay_ms))


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_another_worker_finishes_a_killed_workers_children_and_each_is_announced_once(fleet: Fleet, pool: str) -> None:
    """I4, I5: three leaves during a model call, a parked parent, and its child that has not started."""
    start_workers(fleet, "main", "service")
    victim = fleet.worker("subagent", concurrency=3, pool=pool)
    names = ["a", "b", "c"]
    middle = program(spawn(leaf("deep")), say("waiting"), say("middle done"))
    leaves = [leaf(name, delay_ms=2_000) for name in names]
    fleet.send(program(spawn(middle, *leaves), say("spawned"), say("heard")))
    # They start in spawn order: the last leaf once the parent has parked, then the parent's child.
    eventually(lambda: [fleet.count(f"ran-{name}") for name in names] == [1] * 3, within=20)
    assert RunState.PARKED in states(fleet)

    victim.kill()
    fleet.worker("subagent", concurrency=8, pool=pool)
    runs = check_tree(fleet.stores, ROOT)

    assert [run.state for run in runs] == [RunState.OK] * 5
    assert [fleet.count(f"ran-{name}") for name in [*names, "deep"]] == [1] * 4
    assert {attempt.how for run in runs for attempt in run.attempts} == {"taken", "takeover", "unpark"}
    (announce,) = announces(fleet.transcript())
    assert [text in announce for text in ("a done", "b done", "c done", "middle done")] == [True] * 4


def test_parents_killed_at_any_point_of_spawning_have_each_child_once(fleet: Fleet) -> None:
    """I4, I8, rules 3 and 15: registered children run even if the parent died before it published them.

    The next owner of the parent repeats the call and gets the same children.
    """
    start_workers(fleet, "subagent", "service")
    moments = [f"{REGISTER}:1", f"{REGISTER}:1:after", f"{CHORD}:1", f"{HEADER}:2", f"{HEADER}:3:after"]
    victims = [fleet.worker(concurrency=1, wait=False, **faulty(die=moment)) for moment in moments]
    fleet.ready(*victims)
    for n in range(len(victims)):
        fleet.send(program(spawn(*(leaf(f"{n}{name}") for name in "abc")), say("spawned"), say("heard")), f"s{n}")
    for victim in victims:
        assert victim.wait() == -signal.SIGKILL

    registered = 3 * (len(victims) - 1)
    eventually(lambda: states(fleet).count(RunState.OK) == registered, within=20)
    start_workers(fleet, "main")
    for n in range(len(victims)):
        runs = check_tree(fleet.stores, session_key(f"s{n}"))
        assert [run.text for run in runs] == [f"{n}a done", f"{n}b done", f"{n}c done"]
        assert [fleet.count(f"ran-{n}{name}") for name in "abc"] == [1] * 3
        assert len(announces(fleet.transcript(f"s{n}"))) == 1


def test_a_batch_is_announced_once_if_all_workers_die_before_the_announce(fleet: Fleet) -> None:
    """I4: the batch record is the outbox; the next workers deliver it once."""
    # No worker serves the service lane: the chord's body stays queued, and the sweep waits two seconds for it.
    workers = start_workers(fleet, "main", "subagent")
    fleet.send(program(spawn(*(leaf(name) for name in "abc")), say("spawned"), say("heard")))
    eventually(lambda: [run.settled_at is None for run in children(fleet)] == [False] * 3, within=20, every=0.005)
    for worker in workers:
        worker.kill()
    assert batch_of(fleet.stores, children(fleet)[0]).state is BatchState.SETTLED, "the workers died too late"

    start_workers(fleet, "main")
    check_tree(fleet.stores, ROOT)

    assert len(announces(fleet.transcript())) == 1
    assert fleet.runs()[0].text == "heard"


def test_a_parked_child_gets_its_results_once_if_all_workers_die_around_the_announce(make_fleet: MakeFleet) -> None:
    """I4, rule 2: one script delivers the results and unparks the run; a lost wake-up only costs time."""
    fleet = make_fleet({"engine": {"leaseSeconds": 1.0}})
    others = start_workers(fleet, "main", "subagent")
    moments = [f"{ANNOUNCE}:1", f"{ANNOUNCE}:1:after"]
    victims = [fleet.worker("service", concurrency=1, wait=False, **faulty(die=moment)) for moment in moments]
    fleet.ready(*victims)
    for n in range(len(victims)):
        middle = program(spawn(leaf(f"{n}")), say("waiting"), say("middle done"))
        fleet.send(program(spawn(middle), say("spawned"), say("heard")), f"s{n}")
    for victim in victims:
        assert victim.wait() == -signal.SIGKILL
    for worker in others:
        worker.kill()
    assert RunState.PARKED in states(fleet), "the workers died too late"

    start_workers(fleet, "main", "subagent", "service")
    for n in range(len(victims)):
        runs = check_tree(fleet.stores, session_key(f"s{n}"))
        assert [run.text for run in runs] == ["middle done", f"{n} done"]
        assert len(announces(fleet.transcript(f"s{n}"))) == 1
