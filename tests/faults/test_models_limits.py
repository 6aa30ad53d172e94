"""Limits and budgets of the whole fleet: calls above a limit wait in order, turns above a budget end with an answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from openclaw_workers.domain.runs import RunState
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.tree import check_tree, children_of
from tests.support.waiting import eventually
from tests.support.wire import Called, Hang, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour
from tests.support.wired_fleet import MOST_OUTPUT, asked, config, ledger, said


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def test_calls_above_a_limit_wait_in_order_and_none_fails(make_fleet: MakeFleet, server: WireServer) -> None:
    """Two workers, twelve sessions, one call at a time."""
    fleet = make_fleet(config(server, limits={"concurrent": 1}))
    server.answer = lambda _: Reply("served", gap_seconds=0.05)
    fleet.ready(fleet.worker(concurrency=8, wait=False), fleet.worker(concurrency=8, wait=False))
    sent = []
    server.script.append(Hang())
    blocker = fleet.send("blocker", "blocker")
    eventually(server.is_silent.is_set, within=60)
    line = fleet.stores.keys.waiting("a")
    for number in range(12):
        sent.append(fleet.send(f"number {number}", f"s{number}"))
        eventually(lambda number=number: fleet.stores.redis.zcard(line) == number + 1, within=30)  # type: ignore[misc]
    fleet.command("/stop", "blocker")

    outcomes = fleet.outcomes(sent)

    assert [outcome.text for outcome in outcomes] == ["served"] * 12
    assert set(asked(server)) == {"a1"}, "a call fell back to the other provider"
    order = [said(request).rpartition("number ")[2] for request in server.requests[1:]]
    assert order == [str(number) for number in range(12)]
    spans = sorted((call.at - call.milliseconds, call.at) for call in ledger(fleet) if call.outcome == "ok")
    assert all(begun >= ended - 20 for (_, ended), (begun, _) in pairwise(spans)), spans
    assert fleet.outcome(blocker).run is not None


def test_requests_above_the_limit_per_minute_wait_until_their_deadline(
    make_fleet: MakeFleet, server: WireServer
) -> None:
    given = config(server, limits={"requestsPerMinute": 2})
    given["agents"]["defaults"]["timeoutSeconds"] = 6
    fleet = make_fleet(given)
    fleet.worker()
    outcomes = fleet.outcomes([fleet.send("hello", f"s{number}") for number in range(3)])
    states = Counter(outcome.run.state for outcome in outcomes if outcome.run)
    assert states == {RunState.OK: 2, RunState.TIMEOUT: 1}
    assert asked(server) == ["a1", "a1"]
    assert fleet.stores.redis.zcard(fleet.stores.keys.waiting("a")) == 0


def test_the_slot_and_reservation_of_a_dead_worker_are_soon_free_again(
    make_fleet: MakeFleet, server: WireServer
) -> None:
    """I8: its run is reset, so no next owner gives them back."""
    given = config(server, limits={"concurrent": 1})
    given["budgets"] = {"day": {"seconds": 100}}  # a call first reserves sixty of them
    fleet = make_fleet(given)
    server.script.append(Hang())
    victim = fleet.worker()
    fleet.send("hello", "first")
    eventually(server.is_silent.is_set, within=60)
    fleet.worker()
    victim.kill()
    fleet.control.reset(session_key("first"))
    assert fleet.outcome(fleet.send("hello", "second"), within=40).text == "ok"


def test_turns_that_wait_for_a_limit_when_their_worker_dies_are_recorded_once_as_estimates(
    make_fleet: MakeFleet, server: WireServer
) -> None:
    """I9: no record tells a call from the wait for one, so each dead owner leaves one estimate."""
    given = config(server, limits={"concurrent": 1})
    given["budgets"] = {"day": {"calls": 1000}}
    fleet = make_fleet(given)
    server.script.append(Hang())
    victim = fleet.worker()
    sent = [fleet.send("hello", "asking")]
    eventually(server.is_silent.is_set, within=60)
    sent += [fleet.send("hello", f"waiting-{number}") for number in range(3)]
    redis, line = fleet.stores.redis, fleet.stores.keys.waiting("a")
    eventually(lambda: redis.zcard(line) == 3, within=30)

    victim.kill()
    fleet.worker()

    assert [outcome.text for outcome in fleet.outcomes(sent, within=60)] == ["ok"] * 4
    calls = ledger(fleet)
    assert Counter(call.outcome for call in calls) == {"ok": 4, "lost": 4}
    assert all(call.estimated for call in calls if call.outcome == "lost")
    (budget,) = [str(key) for key in redis.keys("*:spent")]
    assert redis.hget(budget, "calls") == str(len(calls))


def spawning_seconds(fleet: Fleet) -> float:
    """How long the tool calls of the main session took, plus a margin for the events."""
    times = [event.at for event in fleet.events() if event.type in ("tool.started", "tool.ended")]
    return (max(times) - min(times)) / 1000 + 0.1


CHILDREN = 20
BUDGETS = {"tokens": 30_000, "cost": 0.03, "seconds": 8}
"""A thousand tokens cost a tenth of a cent."""


@pytest.mark.parametrize("what", BUDGETS)
def test_twenty_children_overspend_a_budget_by_one_reservation_at_most(
    make_fleet: MakeFleet, server: WireServer, what: str
) -> None:
    limit = BUDGETS[what]
    given = config(server)
    given["models"]["providers"]["a"]["models"][0]["cost"] = {"input": 1.0, "output": 1.0}
    given["budgets"] = {"tree": {what: limit}}
    given["agents"]["defaults"]["subagents"] = {"maxChildrenPerAgent": CHILDREN}
    fleet = make_fleet(given)
    spawn = [Called("sessions_spawn", {"task": f"task {number}"}, f"c{number}") for number in range(CHILDREN)]
    patient = iter(range(4))

    def answer(request: Recorded) -> Behaviour:
        size = len(json.dumps(request.body)) // 4
        if said(request).rstrip().endswith("go") and "sessions_spawn" in str(request.body.get("tools")):
            return Reply(calls=spawn, input=size, output=100)
        if what == "seconds" and next(patient, None) is None:
            return Hang()  # longer than any reservation
        return Reply("done", input=size, output=MOST_OUTPUT, gap_seconds=0.05)

    server.answer = answer
    start_workers(fleet, "main", "subagent", concurrency=CHILDREN)
    root = fleet.send("go")
    outcome = fleet.outcome(root, within=60)
    check_tree(fleet.stores, within=90)

    calls = ledger(fleet)
    amounts = [call.amounts()[what] for call in calls]
    # One call was running when the budget ran out. A call ended by its time limit may last two ticks longer.
    most = 3 if what == "seconds" else max(amounts)
    (budget,) = [str(key) for key in fleet.stores.redis.keys("*:spent")]
    spent = float(str(fleet.stores.redis.hget(budget, what)))
    assert limit <= spent < limit + most
    assert 0 <= spent - sum(amounts) + 1e-9 <= (spawning_seconds(fleet) if what == "seconds" else 1e-6)
    assert len(calls) == len(server.requests)
    children = children_of(fleet.stores)
    assert len(children) == CHILDREN
    assert {child.state for child in children} == {RunState.OK}
    stopped = [child for child in children if child.reason == "budget"]
    assert 0 < len(stopped) < CHILDREN
    for child in stopped:
        assert (child.text or "").startswith("I have to stop here: the budget tree agent:main:main")
    assert outcome.run is not None
