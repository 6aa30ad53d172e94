"""Two hosts with networks, names and directories of their own on one Redis: turns run where their files are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.store.moves import PIECE_BYTES, Move
from tests.support.fleet import Fleet
from tests.support.hosts import OtherHost
from tests.support.networks import network
from tests.support.ocw import Done, Ocw, finish
from tests.support.programs import call, execute, program, say, write
from tests.support.waiting import eventually

READ = program(call(execute("cat notes.txt")), say("read"))
pytestmark = pytest.mark.needs("networks")


@dataclass
class TwoHosts:
    fleet: Fleet
    a: OtherHost
    b: OtherHost

    def run(self, queued: Queued, *, within: float = 60) -> Run:
        run = self.fleet.outcome(queued, within=within).run
        assert run is not None
        return run

    def read(self, run: Run) -> str:
        """What the last tool call of a run returned."""
        entries = self.fleet.stores.reader.transcript(run.session_key)
        results = [entry for entry in entries if isinstance(entry, ToolResultEntry) and entry.run_id == run.id]
        return results[-1].text.splitlines()[1]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[TwoHosts]:
    agents = [
        {"id": "main"},
        {"id": "shared", "workspace": str(tmp_path / "shared")},
        {"id": "free", "workspace": {"place": "any"}},
    ]
    config = {"agents": {"list": agents}, "engine": {"namespace": "ocw"}}
    with (
        network() as joined,
        Fleet(tmp_path / "fleet", config, addresses=("127.0.0.1", joined.address)) as fleet,
    ):
        assert Ocw(fleet)("config", "apply").code == 0
        url = f"redis://{joined.address}:{fleet.redis_server.port}/0"
        a, b = (OtherHost(fleet, name, prefix=joined.host(name), REDIS_URL=url) for name in ("host-a", "host-b"))
        yield TwoHosts(fleet, a, b)


def host(run: Run) -> str:
    return run.attempts[-1].worker.split("/")[0]


def test_a_host_that_has_the_only_copy_dies_and_comes_back(hosts: TwoHosts) -> None:
    fleet, ocw = hosts.fleet, Ocw(hosts.fleet)
    first = hosts.a.worker()
    made = hosts.run(fleet.send(program(call(write("notes.txt", "kept")), say("written"))))
    assert (made.state, host(made)) == (RunState.OK, "host-a")
    hosts.b.worker()
    eventually(lambda: any(queue.startswith("main@") for queue in fleet.consumed_queues()), within=20)

    # Every turn of the agent runs on its host; what is shared or runs anywhere runs on both.
    reads = [fleet.send(READ, f"s{index}") for index in range(6)]
    others = [fleet.send(program(say("hi")), f"agent:{agent}:s{i}") for i in range(12) for agent in ("shared", "free")]
    runs = [hosts.run(queued) for queued in [*reads, *others]]
    assert all(run.state is RunState.OK for run in runs), fleet.logs()
    assert {(host(run), hosts.read(run)) for run in runs[:6]} == {("host-a", "kept")}
    for agent in ("shared", "free"):
        assert {host(run) for run in runs if run.agent_id == agent} == {"host-a", "host-b"}

    first.kill()
    waits = fleet.send(READ)
    assert waits.run is not None
    where = f"host-a:{hosts.a.state_dir}/workspace"
    eventually(lambda: record(fleet, waits.run).waits_for == where, within=40)
    status = json.loads(ocw("status", "--json").out)
    (place,) = [each for each in status["places"] if each["agentId"] == "main"]
    assert (place["served"], place["where"], place["hostsWithout"]) == (False, where, ["host-b"])
    text = ocw("status").out
    assert f"no worker takes turns at {where}" in text
    assert "host-b cannot serve agent main" in text
    found = json.loads(ocw("doctor", "--no-probe", "--json").out)["findings"]
    assert ("places", "error") in {(each["check"], each["state"]) for each in found}
    sent = ocw("agent", "--session", "asked", "--timeout", "8", "-m", "hi")
    assert f"the files of agent main are at {where}" in sent.err

    hosts.a.worker()
    again = hosts.run(waits)
    assert (again.state, again.text, host(again), again.attempt) == (RunState.OK, "read", "host-a", 1)
    assert [attempt.how for attempt in again.attempts] == ["taken"]
    assert hosts.read(again) == "kept"


def record(fleet: Fleet, run_id: RunId | None) -> Run:
    run = fleet.stores.reader.run(run_id or RunId(""))
    assert run is not None
    return run


def test_the_files_move_to_another_host_although_workers_are_killed(hosts: TwoHosts) -> None:
    fleet, ocw = hosts.fleet, Ocw(hosts.fleet)
    at_a = [hosts.a.worker(), hosts.a.worker(lane="service")]
    made = hosts.run(fleet.send(program(call(write("notes.txt", "kept")), say("written"))))
    assert host(made) == "host-a"
    for number in range(40):
        (hosts.a.state_dir / "workspace" / f"large-{number}").write_bytes(os.urandom(PIECE_BYTES * 2))
    hosts.b.worker()
    fetching = hosts.b.worker(lane="service")
    eventually(lambda: "main" in cannot_serve(fleet, "host-b"), within=30)

    moving = Ocw(fleet).start("agents", "move", "main", "--to", "host-b", "--json")
    begun = eventually(lambda: halfway(fleet), within=60)
    at_a[1].kill()
    fetching.kill()
    assert fleet.stores.moves.get(begun.id).state == "copying"
    waits = fleet.send(READ)
    for again in (hosts.a, hosts.b):
        again.worker(lane="service")
    done = finish(moving, within=120)

    assert done.code == 0, done.err
    assert (done.json["state"], done.json["toHost"]) == ("done", "host-b")
    after = hosts.run(waits)
    assert (after.state, host(after), hosts.read(after)) == (RunState.OK, "host-b", "kept")
    for number in range(40):
        here, there = (each.state_dir / "workspace" / f"large-{number}" for each in (hosts.a, hosts.b))
        assert here.read_bytes() == there.read_bytes()
    assert ocw("agents", "move", "main", "--to", "host-b").code == 2


def test_an_agent_is_not_moved_while_a_turn_or_a_command_of_it_runs(hosts: TwoHosts) -> None:
    fleet, ocw = hosts.fleet, Ocw(hosts.fleet)
    for each in (hosts.a, hosts.b):
        each.worker()
        each.worker(lane="service")
    gate, ended = fleet.directory / "gate", fleet.directory / "ended"
    turn = fleet.send(program(call(execute(f"until [ -e {gate} ]; do sleep 0.05; done")), say("done")))
    at = eventually(lambda: working_host(fleet), within=30)
    to = "host-b" if at == "host-a" else "host-a"
    eventually(lambda: "main" in cannot_serve(fleet, to), within=30)

    refused = ocw("agents", "move", "main", "--to", to)
    assert (refused.code, "a turn of agent main is running" in refused.err) == (6, True), refused.err
    gate.touch()
    assert hosts.run(turn).state is RunState.OK

    command = execute(f"until [ -e {ended} ]; do sleep 0.05; done")
    command["input"]["background"] = True
    assert hosts.run(fleet.send(program(call(command), say("left")))).state is RunState.OK
    for options in ([], ["--without-files"]):
        refused = ocw("agents", "move", "main", "--to", to, *options)
        assert refused.code == 6, refused.err
        assert " of agent:main:main (process " in refused.err
        assert f" on {at})" in refused.err
    assert fleet.stores.moves.current("main") is None

    ended.touch()
    done = eventually(lambda: accepted(ocw("agents", "move", "main", "--to", to, "--json")), within=60)
    assert done.json["state"] == "done"


def working_host(fleet: Fleet) -> str | None:
    """The host that runs a turn."""
    owners = [fleet.stores.reader.control(session).owner for session in fleet.stores.reader.running()]
    return str(owners[0]).split("/")[0] if owners and owners[0] else None


def accepted(done: Done) -> Done | None:
    """The answer, unless the move was refused."""
    return None if done.code == 6 else done


def cannot_serve(fleet: Fleet, name: str) -> set[str]:
    """The agents that all live workers of a host say they cannot serve."""
    workers = [each for each in fleet.stores.workers.all() if each.alive and each.facts["host"] == name]
    said = [each.facts.get("cannot_serve", "").split() for each in workers]
    return set.intersection(*map(set, said)) if said else set()


def halfway(fleet: Fleet) -> Move | None:
    """The move of the agent, once some of its files have arrived."""
    move = fleet.stores.moves.current("main")
    return move if move is not None and move.bytes_done else None
