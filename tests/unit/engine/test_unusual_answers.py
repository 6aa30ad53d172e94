"""Answers that are none: a turn shows what the model declined with, and never passes over silence in silence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.errors import FailureReason as Why
from openclaw_workers.models.transcript import AssistantEntry, NoticeEntry
from tests.support.wire import Called, Reply, WireServer
from tests.unit.engine.conftest import MakeHouse
from tests.unit.engine.model_talk import ask, house_with
from tests.unit.engine.wired_house import wired_house

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-completions", "openai-responses")
WORDS = "I cannot help with that."


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.mark.parametrize("api", APIS)
def test_a_refusal_is_the_answer_and_nothing_of_it_is_carried_out(
    make_house: MakeHouse, server: WireServer, api: str
) -> None:
    house = house_with(make_house, server, api)
    server.script.append(Reply(refusal=WORDS, calls=[Called("write", {"path": "made.txt", "content": "x"})]))
    run = ask(house, "do it")
    assert run.state == "ok"
    assert WORDS in (run.text or "")
    assert not (house.loaded.state_dir / "workspace" / "made.txt").exists()
    assert [entry.role for entry in house.log()] == ["user", "assistant"]
    (answer,) = [entry for entry in house.log() if isinstance(entry, AssistantEntry)]
    assert (answer.tool_calls, len(server.requests)) == ([], 1)
    assert ask(house, "and now?").text == "ok", "and the conversation goes on"


@pytest.mark.parametrize("api", APIS)
def test_an_empty_answer_from_every_key_is_an_error_that_people_see(
    make_house: MakeHouse, server: WireServer, api: Api
) -> None:
    wired = wired_house(make_house, server, api=api, model={"primary": "a/m", "fallbacks": ["b/m"]})
    for key in ("a1:m", "a2:m", "b1:m"):
        wired.plan(key, *[Reply("")] * 9)
    run = wired.turn()
    assert (run.state, run.text, run.reason) == ("error", None, Why.CUT)
    assert "empty" in (run.error or "")
    asked = wired.asked()
    assert (asked[:3], set(asked[3:])) == (["a1:m", "a2:m", "b1:m"], {"b1:m"}), "the last one is tried again"
    assert {attempt.reason for attempt in run.model_attempts} == {Why.CUT}
    assert [call.outcome for call in wired.ledger()] == ["cut"] * len(asked)
    last = wired.house.log()[-1]
    assert isinstance(last, NoticeEntry)
    assert "empty" in last.text, "it stays in the log"
