"""A parent is stopped or reset while its children work: no child survives (I4, rules 12, 18)."""

from __future__ import annotations

import random
import time

from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import AssistantEntry, UserEntry
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.store.tree import Tree
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import faulty, place, start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.programs import program, say, spawn
from tests.support.tree import batch_of, check_tree, children_of
from tests.support.waiting import eventually

ENDLESS = program(say("never", delay_ms=60_000))
SPAWN = place(Tree.spawn)


def children(fleet: Fleet, session: str) -> list[Run]:
    return children_of(fleet.stores, session_key(session))


def states(fleet: Fleet, session: str) -> list[RunState]:
    return [run.state for run in children(fleet, session)]


def test_no_child_survives_a_stop_while_the_parent_spawns_in_a_loop(make_fleet: MakeFleet) -> None:
    """Rule 12: the stop marks the parent first, so later registrations are refused."""
    fleet = make_fleet({"agents": {"defaults": {"subagents": {"maxChildrenPerAgent": 20, "maxTreeRuns": 100}}}})
    # Workers are slow between the decision to spawn and the registration; the stops fall into that gap.
    slow = faulty(slow=f"{SPAWN}:0.3")
    fleet.ready(fleet.worker(concurrency=8, wait=False, **slow), *start_workers(fleet, "service"))
    fleet.ready(fleet.worker("subagent", concurrency=300, wait=False, **slow))
    roots, below, chance = [f"root{n}" for n in range(4)], [f"below{n}" for n in range(3)], random.Random(12)
    for name in roots:
        # Not announced: an announce would wake the root, and it would continue its loop.
        fleet.send(program(*[spawn(ENDLESS, announce="none")] * 40, say("spawned")), name)
    for name in below:
        loop = program(*[spawn(ENDLESS)] * 40, say("waiting"))
        fleet.send(program(spawn(loop), say("spawned"), say("heard")), name)
    for name in [*roots, *below]:
        eventually(lambda name=name: len(children(fleet, name)) >= 3, within=30)  # type: ignore[misc]

    for name in chance.sample([*roots, *below], k=7):
        if name in roots:
            fleet.control.stop_session(session_key(name))
        else:
            fleet.control.stop_run(children(fleet, name)[0].id)
        time.sleep(chance.uniform(0, 0.1))  # to arrive at every point of the loop
    for name in [*roots, *below]:
        runs = check_tree(fleet.stores, session_key(name), within=20)
        assert {run.state for run in runs} == {RunState.KILLED}, name
        assert len(runs) < 20, f"{name} spawned all that it may before the stop"


def archived(fleet: Fleet, session_id: str) -> str:
    """The archived transcript of an earlier session id."""
    file = fleet.state_dir / "agents" / "main" / "sessions" / f"{session_id}.jsonl"
    return file.read_text() if file.exists() else ""


def test_children_from_before_a_reset_write_nothing_into_the_new_transcript(fleet: Fleet) -> None:
    """Rule 18: they are stopped, and their results go to the old archive, even those already in the inbox."""
    start_workers(fleet, "main", "subagent", "service")
    middle = program(spawn(ENDLESS), say("waiting"), say("never"))
    fleet.send(program(spawn(ENDLESS, middle), say("spawned"), say("never")), "running")
    fleet.send(program(spawn(program(say("quick"))), say("never", delay_ms=60_000)), "waiting")
    eventually(lambda: sorted(states(fleet, "running")) == ["parked", "running", "running"], within=20)
    waiting = fleet.stores.keys.inbox(session_key("waiting"))
    eventually(lambda: fleet.stores.redis.zcard(waiting) == 1, within=20)

    old_ids = {name: fleet.stores.reader.row(session_key(name))["sessionId"] for name in ("running", "waiting")}
    for name in old_ids:
        fleet.control.reset(session_key(name))
        fleet.send(program(say("new answer")), name)
    old = check_tree(fleet.stores, session_key("running")) + check_tree(fleet.stores, session_key("waiting"))

    assert [run.ended_reason for run in old] == ["session-reset"] * 3 + ["complete"]
    ends = {batch_of(fleet.stores, run).state for run in old}
    assert ends == {BatchState.ARCHIVED, BatchState.FOLDED, BatchState.DELIVERED}
    for name in ("running", "waiting"):
        question, answer = fleet.transcript(name)
        assert isinstance(question, UserEntry)
        assert question.provenance != "subagent"
        assert isinstance(answer, AssistantEntry)
        assert answer.text == "new answer"
    for run in old:
        root = "waiting" if run.root_session_key == session_key("waiting") else "running"
        eventually(lambda run=run, root=root: archived(fleet, old_ids[root]).count(f"run: {run.id}") == 1, within=20)  # type: ignore[misc]
