"""Defaults, then the agent, then the session, then the message: whose word holds for a turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.domain.accepted import Answered
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.transcript import CompactionEntry
from openclaw_workers.errors import BadInput
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.model_turns import ask, engine_with
from tests.support.wire import WireServer

WORKER = SessionKey("agent:worker:main")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def command(engine: EngineHarness, text: str, session: SessionKey) -> str:
    done = engine.intake.accept(text, session=session, route=CLI, authority=Authority.OWNER)
    assert isinstance(done, Answered)
    return done.text


def test_the_level_of_thinking_is_that_of_the_nearest_word(make_engine: MakeEngine, server: WireServer) -> None:
    model = {"id": "m", "contextWindow": 30_000, "maxTokens": 1000, "reasoning": True}
    wire = {"baseUrl": server.openai_url, "api": "openai-completions", "apiKey": "k", "models": [model]}
    agents = {
        "defaults": {"model": "wire/m", "thinkingDefault": "minimal"},
        "list": [{"id": "main"}, {"id": "worker", "thinkingDefault": "low"}],
    }
    engine = make_engine({"models": {"providers": {"wire": wire}}, "agents": agents})

    ask(engine, "by the defaults")
    ask(engine, "by the agent", session=WORKER)
    command(engine, "/think medium", WORKER)
    ask(engine, "by the session", session=WORKER)
    ask(engine, "by the message", session=WORKER, thinking="high")
    ask(engine, "by the session again", session=WORKER)

    levels = [request.body["reasoning_effort"] for request in server.requests]
    assert levels == ["minimal", "low", "medium", "high", "medium"]


@pytest.mark.parametrize(("limit", "term", "compacts"), [("", None, False), ("12k", None, True), ("", 12_000, True)])
def test_the_context_is_limited_by_the_session_or_the_message(
    make_engine: MakeEngine, server: WireServer, limit: str, term: int | None, compacts: bool
) -> None:
    engine = engine_with(make_engine, server, window=60_000)
    ask(engine, "hello")
    if limit:
        assert command(engine, f"/context limit {limit}", SESSION) == "Context limit set: 12,000 tokens."
    for _ in range(8):
        ask(engine, "x" * 8_000, context_tokens=term)

    assert any(isinstance(entry, CompactionEntry) for entry in engine.log()) is compacts


def test_a_limit_of_the_context_is_taken_back(engine: EngineHarness) -> None:
    ask(engine, "hello")
    for argument, kept in (("limit 9000", 9_000), ("limit default", None)):
        command(engine, f"/context {argument}", SESSION)
        row = engine.stores.reader.session(SESSION)
        assert row is not None
        assert row.context_tokens_override == kept


@pytest.mark.parametrize("argument", ["limit", "limit much", "limit -5", "12000", "limit 0", "limit 999"])
def test_a_limit_that_is_none_is_refused(engine: EngineHarness, argument: str) -> None:
    ask(engine, "hello")

    with pytest.raises(BadInput, match=r"expected (detail, or limit and a number|1,000 or more)"):
        engine.say(f"/context {argument}")


def test_a_message_may_give_its_turn_less_time_or_more(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": {"defaults": {"timeoutSeconds": 60}}})
    engine.say("quick", timeout_seconds=7)

    taken = engine.take()

    assert taken.deadline_at - taken.now == 7_000


@pytest.mark.parametrize("term", [{"thinking": "low"}, {"context_tokens": 9_000}, {"timeout_seconds": 9}])
def test_a_message_with_terms_of_its_own_is_answered_alone(engine: EngineHarness, term: dict[str, Any]) -> None:
    sent = [engine.say("plain"), engine.say("also plain"), engine.say("apart", **term), engine.say("plain again")]
    engine.work()

    first, second, third, fourth = (engine.receipt(each).run for each in sent)
    assert first == second
    assert len({first, third, fourth}) == 3


def test_a_level_that_is_none_is_refused_before_anything_is_accepted(engine: EngineHarness) -> None:
    with pytest.raises(BadInput, match=r"'hgih' is not a level of /think; .*did you mean 'high'"):
        engine.say("hello", thinking="hgih")

    assert engine.stores.reader.sessions() == []
