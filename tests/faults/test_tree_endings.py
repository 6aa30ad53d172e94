"""However a child ends, its parent gets one correct announce (I4). Waiting for children delays no other turn."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import BatchState
from tests.faults.conftest import MakeFleet
from tests.support.fleet import Fleet
from tests.support.ocw import Gate
from tests.support.programs import Program, call, crash, mark, program, say, spawn
from tests.support.tree import announces, batch_of, check_tree, children_of
from tests.support.waiting import eventually

ANNOUNCED_WITHIN = 10
"""Seconds from the end of a child to its announce, on a busy machine; usually a fraction of one."""

ENDLESS = program(say("never", delay_ms=600_000))


def with_workers(fleet: Fleet, *, concurrency: int = 8, respawn: bool = False) -> Fleet:
    """Start one worker per lane."""
    fleet.ready(
        fleet.worker("main", wait=False),
        fleet.worker("subagent", concurrency=concurrency, respawn=respawn, wait=False),
        fleet.worker("service", wait=False),
    )
    return fleet


def begin(fleet: Fleet, *children: Program, session: str = "main", **options: Any) -> Queued:
    """A root that spawns, answers, and answers again after the announce."""
    return fleet.send(program(spawn(*children, **options), say("spawned"), say("heard")), session)


def announce_to(fleet: Fleet, root: Queued, *, within: float = ANNOUNCED_WITHIN) -> str:
    """Wait for the announce and check that it is the only one once everything has drained."""
    eventually(lambda: announces(fleet.transcript(root.session_key)), within=within)
    check_tree(fleet.stores, root.session_key)
    (announce,) = announces(fleet.transcript(root.session_key))
    return announce


def offspring(fleet: Fleet, session: SessionKey, count: int, state: RunState | None = None) -> list[Run]:
    """Wait until a session has this many children, all in the given state if there is one."""

    def found() -> list[Run] | None:
        children = fleet.stores.tree.children(session)
        there = len(children) == count and all(state in (None, run.state) for run in children)
        return children if there else None

    return eventually(found, within=20)


def test_a_saturated_subagent_lane_does_not_delay_main_turns(make_fleet: MakeFleet) -> None:
    """Two slots, forty children that never end, and a main lane that still starts each turn at once."""
    fleet = with_workers(make_fleet(), concurrency=2)
    roots = [begin(fleet, *[ENDLESS] * 5, session=f"root-{n}") for n in range(8)]
    for root in roots:
        offspring(fleet, root.session_key, 5)
    eventually(lambda: at_work(fleet) >= 2, within=20)

    sent = [fleet.send(program(say("at once")), f"person-{n}") for n in range(20)]
    runs = [outcome.run for outcome in fleet.outcomes(sent, within=10)]

    waited = [(run.started_at or 0) - run.queued_at for run in runs if run]
    assert len(waited) == 20
    assert max(waited) < 1000, f"milliseconds until the start: {waited}"
    assert at_work(fleet) == 2
    for root in roots:
        fleet.control.stop_session(root.session_key)
    assert {run.state for run in check_tree(fleet.stores)} == {RunState.KILLED}


def at_work(fleet: Fleet) -> int:
    return [run.state for run in children_of(fleet.stores)].count(RunState.RUNNING)


def test_a_child_that_times_out_is_announced_with_its_partial_result(make_fleet: MakeFleet) -> None:
    fleet = with_workers(make_fleet())
    slow = program(call(mark("begun"), text="half way there"), say("never", delay_ms=600_000))
    root = begin(fleet, slow, runTimeoutSeconds=1)

    announce = announce_to(fleet, root, within=1 + ANNOUNCED_WITHIN)

    (child,) = fleet.stores.tree.children(root.session_key)
    assert (child.state, child.outcome) == (RunState.TIMEOUT, "timeout")
    assert (child.ended_at or 0) - (child.started_at or 0) < 3000
    assert announce.count("status: timed out") == 1
    partial = announce.partition("partial result:")[2]
    assert "half way there" in partial
    assert '[last tool call: exec {"command": "echo run >> begun"}]' in partial
    assert "never" not in partial
    assert fleet.count("begun") == 1


def test_stopping_a_child_stops_its_descendants_and_no_sibling(make_fleet: MakeFleet) -> None:
    """Rule 12: two of its five children run, three wait and never start."""
    fleet = with_workers(make_fleet(), concurrency=3)
    gate = Gate(fleet, "beside")
    beside = program(gate.step, say("unharmed"))
    root = begin(fleet, program(spawn(*[ENDLESS] * 5), say("waiting"), say("never")), beside)
    above, _ = offspring(fleet, root.session_key, 2)
    offspring(fleet, above.session_key, 5)
    eventually(lambda: fleet.run(above.id).state is RunState.PARKED, within=10)
    eventually(lambda: len(fleet.stores.reader.running()) == 3, within=10)

    fleet.control.stop_session(above.session_key)
    eventually(lambda: all(run.settled_at for run in fleet.stores.tree.children(above.session_key)), within=5)
    gate.open()
    announce = announce_to(fleet, root)

    below = fleet.stores.tree.children(above.session_key)
    assert [(run.state, run.reason) for run in below] == [(RunState.KILLED, "killed")] * 5
    assert [run.started_at is None for run in below].count(True) == 3
    assert announce.count("status: failed (killed)") == 6
    assert announce.count("status: completed") == 1
    assert "unharmed" in announce


def test_a_child_that_always_kills_its_worker_is_announced_as_lost(make_fleet: MakeFleet) -> None:
    """Its sibling ends first; otherwise it would be a suspect of the crash."""
    fleet = with_workers(make_fleet(), respawn=True)
    gate = Gate(fleet, "poison")
    poison = program(call(mark("begun"), text="as far as I got"), gate.step, crash())
    root = begin(fleet, poison, program(say("fine")))
    (_, sibling) = offspring(fleet, root.session_key, 2)
    eventually(lambda: fleet.run(sibling.id).state is RunState.OK, within=10)
    gate.open()

    announce = announce_to(fleet, root, within=90)

    lost, fine = fleet.stores.tree.children(root.session_key)
    assert (lost.state, lost.reason, lost.outcome, lost.ended_reason) == (RunState.ERROR, "lost", "unknown", "error")
    assert fine.state is RunState.OK
    assert len(lost.attempts) == 3
    assert announce.count("status: lost") == 1
    assert announce.count("status: completed") == 1
    partial = announce.partition("partial result:")[2]
    assert "as far as I got" in partial
    assert '[last tool call: exec {"command": "while [ ! -e gate-poison ]' in partial, "not its last tool call"
    assert fleet.count("begun") == 1


def test_results_for_a_deleted_child_go_to_its_parent(make_fleet: MakeFleet) -> None:
    fleet = with_workers(make_fleet())
    done = program(say("found it"))
    root = begin(fleet, program(spawn(done, ENDLESS), say("waiting"), say("never")))
    (middle,) = offspring(fleet, root.session_key, 1, RunState.PARKED)
    below = [run.id for run in offspring(fleet, middle.session_key, 2)]
    eventually(lambda: fleet.run(below[0]).state is RunState.OK, within=10)

    fleet.control.delete(middle.session_key)
    announce = announce_to(fleet, root)

    assert fleet.stores.reader.session(middle.session_key) is None
    assert announce.count("status: failed (session-delete)") == 2
    assert announce.count("status: completed") == 1
    assert "found it" in announce
    assert [announce.count(f"run: {run}") for run in (middle.id, *below)] == [1, 1, 1]


def test_results_for_a_child_whose_session_vanished_go_to_its_parent(make_fleet: MakeFleet) -> None:
    """As after an eviction or a manual delete: nothing was notified and nothing was stopped."""
    fleet = with_workers(make_fleet())
    gate = Gate(fleet, "below")
    root = begin(fleet, program(spawn(program(gate.step, say("found it"))), say("waiting"), say("never")))
    (middle,) = offspring(fleet, root.session_key, 1, RunState.PARKED)
    (below,) = offspring(fleet, middle.session_key, 1)
    keys = fleet.stores.keys
    fleet.stores.redis.delete(keys.row(middle.session_key), keys.ctl(middle.session_key))

    gate.open()
    announce = announce_to(fleet, root)

    assert (fleet.run(middle.id).state, fleet.run(middle.id).reason) == (RunState.ERROR, "session-delete")
    assert [announce.count(f"run: {run}") for run in (middle.id, below.id)] == [1, 1]
    assert "found it" in announce
    assert fleet.stores.redis.exists(keys.ctl(middle.session_key)) == 0


def test_children_of_a_deleted_root_are_stopped_and_not_announced(make_fleet: MakeFleet) -> None:
    """Rule 19: stopping them recreates no key of the session."""
    fleet = with_workers(make_fleet())
    root = begin(fleet, ENDLESS, program(spawn(ENDLESS), say("waiting"), say("never")))
    children = offspring(fleet, root.session_key, 2)
    offspring(fleet, children[1].session_key, 1)
    eventually(lambda: fleet.stores.reader.control(root.session_key).state == "idle", within=10)

    fleet.control.delete(root.session_key)
    runs = check_tree(fleet.stores, root.session_key)

    assert [(run.state, run.ended_reason) for run in runs if run.depth == 1] == [
        (RunState.KILLED, "session-delete")
    ] * 2
    assert [run.state for run in runs if run.depth == 2] == [RunState.KILLED]
    assert batch_of(fleet.stores, runs[0]).state is BatchState.NOBODY
    redis, session = fleet.stores.redis, root.session_key
    left = [str(key) for key in redis.scan_iter(f"*:s:{session}:*") if redis.ttl(str(key)) < 0]
    assert left == []
