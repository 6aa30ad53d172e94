"""Model calls while workers die: all workers share cooldowns, and the ledger has every call."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import AssistantEntry
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.waiting import eventually
from tests.support.wire import Called, Failure, Hang, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour
from tests.support.wired_fleet import asked, config, key_of, ledger, said


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def test_workers_share_a_cooldown(make_fleet: MakeFleet, server: WireServer) -> None:
    """The first worker is busy with a turn whose model is silent, so the second one takes all other turns."""
    fleet = make_fleet(config(server))

    def answer(request: Recorded) -> Behaviour:
        if key_of(request) == "a1":
            return Failure(429, "slow down")
        return Hang() if said(request) == "hold" else Reply("b1")

    server.answer = answer
    first = fleet.worker(concurrency=1)
    assert fleet.outcome(fleet.send("one", "s1"), within=60).text == "b1"
    # One turn in the fleet may probe the provider; this probe still fails.
    held = fleet.send("hold", "s2")
    eventually(server.is_silent.is_set, within=60)
    assert asked(server) == ["a1", "b1", "a1", "b1"]

    second = fleet.worker(concurrency=1)
    outcomes = fleet.outcomes([fleet.send("hello", f"other-{number}") for number in range(5)])

    assert [outcome.text for outcome in outcomes] == ["b1"] * 5
    assert asked(server)[4:] == ["b1"] * 5, "the second worker asked the limited provider itself"
    for outcome in outcomes:
        assert outcome.run is not None
        assert [(each.model, each.skipped) for each in outcome.run.model_attempts] == [("a/m", True)]
        assert fleet.carried(outcome.run) == [second.pid]
    assert fleet.carried(fleet.run(held.run)) == [first.pid]
    assert fleet.carries(first) == 1, "the first worker has lost its turn"


def test_a_kill_during_failover_leaves_one_answer_and_every_call_in_the_ledger(
    make_fleet: MakeFleet, server: WireServer
) -> None:
    """I1, I9: the first model has failed and the call of the second is running."""
    fleet = make_fleet(config(server))
    server.script += [Failure(402, "no money"), Hang()]
    victim = fleet.worker()
    queued = fleet.send("hello")
    eventually(server.is_silent.is_set, within=60)

    victim.kill()
    fleet.worker()
    outcome = fleet.outcome(queued, within=60)

    assert outcome.text == "ok"
    assert asked(server) == ["a1", "b1", "b1"], "the next owner skips the first model"
    assert [type(entry) for entry in fleet.transcript()].count(AssistantEntry) == 1
    calls = ledger(fleet)
    assert [(call.outcome, call.estimated) for call in calls] == [("billing", False), ("lost", True), ("ok", False)]
    assert calls[1].usage.input > 0
    assert (calls[1].provider, calls[1].profile) == ("b", "b1"), "the lost call was the fallback's"
    assert outcome.run is not None
    assert [(each.model, each.reason, each.skipped) for each in outcome.run.model_attempts] == [
        ("a/m", "billing", False),
        ("a/m", "billing", True),
    ], "attempts of the first owner, and of the second"
    check(fleet.stores, [queued], one_each=True)


def test_the_ledger_has_the_call_of_each_owner_that_died(make_fleet: MakeFleet, server: WireServer) -> None:
    """I9: each new owner first records the lost call of the previous one, with the model of that call."""
    fleet = make_fleet(config(server))
    # A bad request is not the key's fault, so the second owner starts with the first model again.
    server.script += [Failure(400, "no"), Hang(), Hang()]
    queued = None
    for _ in range(2):
        victim = fleet.worker()
        queued = queued or fleet.send("hello")
        eventually(server.is_silent.is_set, within=60)
        server.is_silent.clear()
        victim.kill()
    assert queued is not None
    fleet.worker()

    assert fleet.outcome(queued, within=60).text == "ok"
    assert asked(server) == ["a1", "b1", "a1", "a1"]
    recorded = [(call.outcome, call.estimated, call.profile) for call in ledger(fleet)]
    assert recorded == [("format", False, "a1"), ("lost", True, "b1"), ("lost", True, "a1"), ("ok", False, "a1")]


@pytest.mark.parametrize(
    ("behaviour", "next_owner", "outcome"),
    [
        pytest.param(Reply("late", gap_seconds=0.3), "another", "ok", id="its answer comes after the next owner's"),
        pytest.param(Hang(), "another", "aborted", id="it hangs up after the next owner's answer"),
        pytest.param(
            Reply("late", gap_seconds=0.3), "itself", "ok", id="its answer comes before it owns the turn again"
        ),
        pytest.param(Hang(), "itself", "aborted", id="it hangs up before it owns the turn again"),
    ],
)
def test_the_ledger_has_the_call_of_a_paused_owner_once(
    make_fleet: MakeFleet, server: WireServer, behaviour: Behaviour, next_owner: str, outcome: str
) -> None:
    """I9, rule 14: the next owner takes it for dead and records an estimate of its call.

    When it wakes up, it records the call itself, without a lease. Its own record stays, whichever came first.
    """
    fleet = make_fleet(config(server))
    server.script.append(behaviour)
    # Otherwise its ticker may end the call before it has read the answer.
    sleeper = fleet.worker(concurrency=1, ignores_ticks=outcome == "ok")
    queued = fleet.send("hello")
    eventually(lambda: server.requests, within=60)
    sleeper.pause()
    if next_owner == "another":
        fleet.worker()
        assert fleet.outcome(queued, within=60).text == "ok"
        sleeper.resume()
    else:
        fleet.worker("service")  # sweeps, and takes no turns
        eventually(lambda: fleet.run(queued.run).state is RunState.QUEUED, within=60)
        sleeper.resume()
        assert fleet.outcome(queued, within=60).text == "ok"
    eventually(lambda: sleeper.fenced() == 1, within=30)

    calls = ledger(fleet)
    assert len(calls) == len(server.requests) == 2, [(call.id, call.outcome) for call in calls]
    assert sorted(call.outcome for call in calls) == sorted([outcome, "ok"])
    assert sum(call.estimated for call in calls) == (outcome == "aborted")
    assert all(call.usage.input > 0 for call in calls)


@pytest.mark.parametrize("end", ["reset", "delete"])
@pytest.mark.parametrize(("fate", "outcome"), [("dead", "lost"), ("alive", "aborted")])
def test_the_ledger_has_the_call_of_a_reset_or_deleted_turn_once(
    make_fleet: MakeFleet, server: WireServer, fate: str, outcome: str, end: str
) -> None:
    """I9: the turn has no next owner that could record the call."""
    fleet = make_fleet({**config(server), "memory": {"sessionNotes": False}})
    server.script.append(Hang())
    owner = fleet.worker()
    queued = fleet.send("hello")
    eventually(server.is_silent.is_set, within=60)
    if fate == "dead":
        owner.kill()
    (fleet.control.reset if end == "reset" else fleet.control.delete)(queued.session_key)
    fleet.worker("service")  # sweeps, and takes no turns

    keys = fleet.stores.keys
    eventually(lambda: fleet.stores.redis.exists(keys.lost_calls) == 0, within=30)
    (call,) = ledger(fleet)
    assert (call.run, call.outcome, call.profile) == (queued.run, outcome, "a1")
    assert call.usage.input > 0
    assert fleet.run(queued.run).usage == call.usage
    assert fleet.run(queued.run).state is RunState.KILLED


def test_an_answer_that_arrives_while_redis_is_away_is_not_requested_again(
    make_fleet: MakeFleet, server: WireServer
) -> None:
    fleet = make_fleet(config(server, limits={"concurrent": 1}))
    server.script.append(Reply("worth waiting for", gap_seconds=0.2))
    worker = fleet.worker()
    queued = fleet.send("hello")
    eventually(lambda: server.requests, within=60)
    fleet.redis_server.kill()
    eventually(lambda: "store.unavailable" in worker.log_text(), within=20)
    fleet.redis_server.start()

    assert fleet.outcome(queued, within=60).text == "worth waiting for"
    assert len(server.requests) == 1
    assert [call.outcome for call in ledger(fleet)] == ["ok"]


def test_the_ledger_equals_what_was_served(make_fleet: MakeFleet, server: WireServer) -> None:
    """I9: the calls include failures, retries, cut streams, tools and stops."""
    fleet = make_fleet(config(server, api="anthropic-messages"))
    tokens, lock = Counter[str](), threading.Lock()
    plans: dict[str, list[Behaviour]] = {
        "plain": [Reply("ok", input=11, output=3)],
        "tool": [Reply(calls=[Called("read", {"path": "x"})], input=7, output=5), Reply("ok", input=13, output=2)],
        "refused": [Failure(400, "no"), Reply("ok", input=17, output=4)],
        "cut": [Reply("half", input=19, after=4, then="reset"), Reply("ok", input=23, output=6)],
        "silent": [Reply("half", input=29, after=4, then="hang")],
    }
    left = {name: list(plan) for name, plan in plans.items()}

    def answer(request: Recorded) -> Behaviour:
        text = str(request.body["messages"])
        name = next(name for name in plans if f"say {name}" in text)
        with lock:
            behaviour = left[name].pop(0)
            if isinstance(behaviour, Reply):
                tokens["input"] += behaviour.input
                # A stream that is cut has reported one token so far.
                tokens["output"] += behaviour.output if behaviour.after is None else 1
            tokens["calls"] += 1
            return behaviour

    server.answer = answer
    fleet.worker(concurrency=8)
    sent = {name: fleet.send(f"say {name}", name) for name in plans}
    # The start of the stream reports the tokens; a call stopped before that would be an estimate.
    eventually(lambda: fleet.events("silent", "text.delta"), within=60)
    fleet.command("/stop", "silent")
    outcomes = {name: fleet.outcome(queued, within=60) for name, queued in sent.items()}

    assert [outcomes[name].text for name in ("plain", "tool", "refused", "cut")] == ["ok"] * 4
    calls = ledger(fleet)
    assert (len(calls), sum(call.usage.input for call in calls)) == (tokens["calls"], tokens["input"])
    assert sum(call.usage.output for call in calls) == tokens["output"]
    assert Counter(call.outcome for call in calls) == {"ok": 5, "format": 1, "cut": 1, "aborted": 1}
    assert not any(call.estimated for call in calls)
    for name, queued in sent.items():
        run = outcomes[name].run
        assert run is not None
        used = [call.usage for call in calls if call.run == run.id]
        assert (run.usage.input, run.usage.output) == (sum(u.input for u in used), sum(u.output for u in used)), name
        assert queued.run == run.id
