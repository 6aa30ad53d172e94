"""The models that were asked in vain: the run record has those of all its owners."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import ModelAttempt
from openclaw_workers.engine.llm.failover import ModelChain
from openclaw_workers.errors import FailureReason as Why
from tests.component.engine.conftest import SESSION, MakeEngine
from tests.component.engine.wire_harness import WireHarness, wire_engine
from tests.support.wire import Called, Failure, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def test_a_turn_that_is_handed_over_keeps_what_its_first_owner_saw(make_engine: MakeEngine, server: WireServer) -> None:
    first = wire_engine(make_engine, server)
    for key in ("a1:m", "a2:m"):
        first.plan(key, Failure(402, "no money"))

    def leave_meanwhile(request: Recorded) -> Behaviour:
        if "a1" not in str(request.headers) and "a2" not in str(request.headers):
            first.engine.process.shutdown.begin()
            return Reply(calls=[Called("read", {"path": "x"})])
        return first.script(request)

    server.answer = leave_meanwhile
    queued = first.engine.say("hello")
    first.engine.runner.run(*first.engine.waker.turns.pop(0))
    seen = [("a/m", "a1", False), ("a/m", "a2", False), ("a/n", "", True)]
    (run,) = first.engine.stores.reader.runs()
    assert run.state == "queued"
    assert [(each.model, each.profile, each.skipped) for each in run.model_attempts] == seen
    failed = [call.id for call in first.ledger() if call.outcome == "billing"]
    assert [each.id for each in run.model_attempts if not each.skipped] == failed

    heir = wire_engine(make_engine, server)
    heir.engine.waker.turns = first.engine.waker.turns
    heir.engine.work()
    run = heir.engine.run_of(queued)
    assert (run.state, run.text, run.fallback_from) == ("ok", "b1:m", "a/m")
    assert [(each.model, each.profile, each.skipped) for each in run.model_attempts] == [
        *seen,
        ("a/m", "", True),
        ("a/n", "", True),
    ]


def test_how_long_each_was_waited_for_is_kept(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.plan("a1:m", Reply("half an answer", after=2, then="reset", gap_seconds=0.1))
    wired.plan("a2:m", Failure(402, "no money"))
    slow, prompt = wired.turn().model_attempts
    assert slow.milliseconds >= 100
    assert prompt.milliseconds >= 0
    calls = {call.id: call.milliseconds for call in wired.ledger()}
    assert [calls[each.id] for each in (slow, prompt)] == [slow.milliseconds, prompt.milliseconds]


Tried = tuple[str, str, Why]

BEFORE: list[tuple[list[Tried], str]] = [
    ([], "a1:a/m"),
    ([("a/m", "a1", Why.TIMEOUT)], "a2:a/m"),
    ([("a/m", "a1", Why.MODEL_NOT_FOUND)], "a1:a/n"),
    ([("a/m", "a1", Why.CUT), ("a/m", "a2", Why.CUT), ("a/n", "a1", Why.FORMAT)], "b1:b/m"),
    ([("a/m", "a1", Why.FORMAT), ("a/n", "a1", Why.FORMAT), ("b/m", "b1", Why.CUT)], "b1:b/m"),
]


@pytest.mark.parametrize(("tried", "asked"), BEFORE)
def test_which_model_a_dead_owner_was_calling_follows_from_what_it_had_tried(
    make_engine: MakeEngine, server: WireServer, tried: list[Tried], asked: str
) -> None:
    wired = wire_engine(make_engine, server)
    found = chain_of(wired).asked_last([ModelAttempt(model=m, profile=p, reason=why) for m, p, why in tried])
    assert f"{found.profile}:{found.name}" == asked


def test_and_by_what_the_fleet_knows_of_the_keys(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.cool("a/a1")
    assert chain_of(wired).asked_last([]).profile == "a2"
    wired.cool("a/a2")
    skipped = ModelAttempt(model="a/m", reason=Why.RATE_LIMIT, skipped=True)
    assert chain_of(wired).asked_last([skipped]).name == "b/m"


def test_a_model_that_was_asked_for_less_was_asked_again(make_engine: MakeEngine, server: WireServer) -> None:
    refused = ModelAttempt(model="a/m", profile="a1", reason=Why.FORMAT, again=True)
    assert chain_of(wire_engine(make_engine, server)).asked_last([refused]).name == "a/m"


def chain_of(wired: WireHarness) -> ModelChain:
    engine = wired.engine
    models = engine.built.models
    agent = engine.built.frames.default("main").agent
    return models.chain(agent, RunId("run-1"), SESSION, {}, Cancel())
