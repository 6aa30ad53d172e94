"""With Redis full, running turns finish, no turn is taken over, and deleting one session makes room again."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count

import redis

from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.errors import StoreFull
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate, Ocw
from tests.support.programs import call, execute, program, say, spawn
from tests.support.tree import announces, children_of
from tests.support.waiting import eventually

ENDLESS = program(say("never", delay_ms=120_000))
SLOW = [call(execute("sleep 0.4"))] * 6
BIG_ENTRIES, ENTRY_BYTES = 300, 100_000


def grow(fleet: Fleet) -> str:
    """Grow a session's transcript to 30 MB and return its session id."""
    fleet.outcome(fleet.send(program(say("small yet")), "big"))
    key = fleet.stores.keys.log(session_key("big"))
    for n in range(BIG_ENTRIES):
        entry = {"role": "user", "content": [{"type": "text", "text": f"{n} " + "x" * ENTRY_BYTES}], "timestamp": 1}
        fleet.stores.redis.rpush(key, json.dumps(entry))
    return fleet.stores.reader.row(session_key("big"))["sessionId"]


def fill(fleet: Fleet) -> None:
    """Fill Redis until it refuses a plain write, with a margin for buffers that shrink again."""
    client = fleet.stores.redis
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.05))
    filler = (f"filler-{n}" for n in count())
    while not is_full(fleet):
        with suppress(redis.ResponseError):
            client.set(next(filler), "x" * 10_000)
    client.config_set("maxmemory", client.info("memory")["used_memory"] - 1_000_000)


def is_full(fleet: Fleet) -> bool:
    try:
        fleet.stores.redis.lpush("probe", "x")
    except redis.ResponseError:
        return True
    return False


def is_refused(fleet: Fleet) -> bool:
    try:
        fleet.send("too much", "new")
    except StoreFull as error:
        return "nearly full" in error.message
    return False


def test_turns_finish_in_a_full_redis_and_one_deletion_makes_room(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    workers = start_workers(fleet, "main", "subagent", "service", concurrency=24)
    session_id = grow(fleet)
    gates = {name: Gate(fleet, name) for name in ("stop", "spawn", "child", "steps")}

    # Given running turns of every kind
    stopped = fleet.send(ENDLESS, "stopped")
    steps = [fleet.send(program(gates["steps"].step, *SLOW, say(f"done {n}")), f"steps{n}") for n in range(4)]
    behind = fleet.send(program(say("behind")), "steps0")
    late = fleet.send(program(gates["spawn"].step, spawn(ENDLESS), say("alone then")), "late")
    child = program(gates["child"].step, say("child's result"))
    parent = fleet.send(program(spawn(child, child), say("spawned"), say("heard")), "parent")
    assert fleet.outcome(parent).text == "spawned"
    middle = program(spawn(child), say("waiting"), say("middle's result"))
    assert fleet.outcome(fleet.send(program(spawn(middle), say("spawned"), say("heard")), "above")).text == "spawned"
    at_work = ["parked", "running", "running", "running"]
    eventually(lambda: sorted(run.state for run in children_of(fleet.stores)) == at_work, within=30)
    eventually(lambda: len(fleet.stores.reader.running()) == 9, within=30)

    # When Redis is full, the turns continue and are answered, and new work is refused
    fill(fleet)
    eventually(lambda: is_refused(fleet), within=20)
    for gate in gates.values():
        gate.open()
    assert [outcome.text for outcome in fleet.outcomes(steps)] == [f"done {n}" for n in range(4)]
    assert fleet.outcome(behind).text == "behind"
    assert fleet.outcome(late).text == "alone then"
    refusal = next(entry for entry in fleet.transcript("late") if isinstance(entry, ToolResultEntry) and entry.is_error)
    assert "no sub-agents are started" in refusal.content[0].text
    # A child settles and wakes its parent even if its chord cannot count it
    for name, said in (("parent", "child's result"), ("above", "middle's result")):
        eventually(lambda name=name: "heard" in str(fleet.transcript(name)[-1]), within=30)  # type: ignore[misc]
        assert all(said in text for text in announces(fleet.transcript(name)))
    # And a turn can be stopped
    fleet.command("/stop", "stopped")
    run = fleet.outcome(stopped).run
    assert run is not None
    assert run.state is RunState.KILLED
    assert is_full(fleet), "Redis was no longer full"

    # Then deleting one session is enough
    done = Ocw(fleet)("sessions", "delete", "big", "--yes")
    assert done.code == 0, done.err
    path = fleet.state_dir / "agents" / "main" / "sessions" / f"{session_id}.jsonl"
    assert len(path.read_text().splitlines()) == 1 + 2 + BIG_ENTRIES
    assert not is_full(fleet)
    eventually(lambda: not is_refused(fleet), within=20)
    assert fleet.outcome(fleet.send(program(say("as before")), "after")).text == "as before"
    assert fleet.outcome(fleet.send(program(spawn(program(say("x"))), say("s"), say("h")), "after")).text == "s"

    # And no worker was restarted, and no turn was taken over
    assert all(worker.is_running() for worker in workers)
    runs = fleet.runs()
    assert {run.attempt for run in runs} == {1}
    assert [attempt.how for run in runs for attempt in run.attempts if attempt.how == "takeover"] == []
    assert len([run for run in children_of(fleet.stores) if run.state is RunState.OK]) >= 2
    assert "store.disconnected" not in fleet.logs()
    for said in ("store.nearly_full", "store.has_room"):
        eventually(lambda said=said: [each.log_text().count(said) for each in workers] == [1] * 3, within=10)  # type: ignore[misc]
    assert "maybe_refresh_binding_expiry" not in fleet.logs()
