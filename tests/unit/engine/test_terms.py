"""Defaults, then the agent, then the session, then the message: whose word holds for a turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.engine.accept import Answered
from openclaw_workers.errors import BadInput
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.messages import Authority
from openclaw_workers.models.transcript import CompactionEntry
from tests.support.wire import WireServer
from tests.unit.engine.conftest import CLI, SESSION, House, MakeHouse
from tests.unit.engine.model_talk import ask, house_with

WORKER = SessionKey("agent:worker:main")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def command(house: House, text: str, session: SessionKey) -> str:
    done = house.intake.accept(text, session=session, route=CLI, authority=Authority.OWNER)
    assert isinstance(done, Answered)
    return done.text


def test_the_level_of_thinking_is_that_of_the_nearest_word(make_house: MakeHouse, server: WireServer) -> None:
    model = {"id": "m", "contextWindow": 30_000, "maxTokens": 1000, "reasoning": True}
    wire = {"baseUrl": server.openai_url, "api": "openai-completions", "apiKey": "k", "models": [model]}
    agents = {
        "defaults": {"model": "wire/m", "thinkingDefault": "minimal"},
        "list": [{"id": "main"}, {"id": "worker", "thinkingDefault": "low"}],
    }
    house = make_house({"models": {"providers": {"wire": wire}}, "agents": agents})

    ask(house, "by the defaults")
    ask(house, "by the agent", session=WORKER)
    command(house, "/think medium", WORKER)
    ask(house, "by the session", session=WORKER)
    ask(house, "by the message", session=WORKER, thinking="high")
    ask(house, "by the session again", session=WORKER)

    levels = [request.body["reasoning_effort"] for request in server.requests]
    assert levels == ["minimal", "low", "medium", "high", "medium"]


@pytest.mark.parametrize(("limit", "term", "compacts"), [("", None, False), ("12k", None, True), ("", 12_000, True)])
def test_the_context_is_limited_by_the_session_or_the_message(
    make_house: MakeHouse, server: WireServer, limit: str, term: int | None, compacts: bool
) -> None:
    house = house_with(make_house, server, window=60_000)
    ask(house, "hello")
    if limit:
        assert command(house, f"/context limit {limit}", SESSION) == "Context limit set: 12,000 tokens."
    for _ in range(8):
        ask(house, "x" * 8_000, context_tokens=term)

    assert any(isinstance(entry, CompactionEntry) for entry in house.log()) is compacts


def test_a_limit_of_the_context_is_taken_back(house: House) -> None:
    ask(house, "hello")
    for argument, kept in (("limit 9000", 9_000), ("limit default", None)):
        command(house, f"/context {argument}", SESSION)
        row = house.stores.reader.session(SESSION)
        assert row is not None
        assert row.context_tokens_override == kept


@pytest.mark.parametrize("argument", ["limit", "limit much", "limit -5", "12000", "limit 0", "limit 999"])
def test_a_limit_that_is_none_is_refused(house: House, argument: str) -> None:
    ask(house, "hello")

    with pytest.raises(BadInput, match=r"expected (limit and a number of tokens|1,000 or more)"):
        house.say(f"/context {argument}")


def test_a_message_may_give_its_turn_less_time_or_more(make_house: MakeHouse) -> None:
    house = make_house({"agents": {"defaults": {"timeoutSeconds": 60}}})
    house.say("quick", timeout_seconds=7)

    taken = house.take()

    assert taken.deadline_at - taken.now == 7_000


@pytest.mark.parametrize("term", [{"thinking": "low"}, {"context_tokens": 9_000}, {"timeout_seconds": 9}])
def test_a_message_with_terms_of_its_own_is_answered_alone(house: House, term: dict[str, Any]) -> None:
    sent = [house.say("plain"), house.say("also plain"), house.say("apart", **term), house.say("plain again")]
    house.work()

    first, second, third, fourth = (house.receipt(each).run for each in sent)
    assert first == second
    assert len({first, third, fourth}) == 3


def test_a_level_that_is_none_is_refused_before_anything_is_accepted(house: House) -> None:
    with pytest.raises(BadInput, match=r"'hgih' is no level of /think; .*did you mean 'high'"):
        house.say("hello", thinking="hgih")

    assert house.stores.reader.sessions() == []
