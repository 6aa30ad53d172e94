"""Answers that are none: a turn shows what the model declined with, and never passes over silence in silence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.domain.transcript import AssistantEntry, NoticeEntry
from openclaw_workers.errors import FailureReason as Why
from tests.component.engine.conftest import MakeEngine
from tests.component.engine.model_turns import ask, engine_with
from tests.component.engine.wire_harness import wire_engine
from tests.support.wire import Called, Reply, WireServer

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-completions", "openai-responses")
WORDS = "I cannot help with that."


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.mark.parametrize("api", APIS)
def test_a_refusal_is_the_answer_and_nothing_of_it_is_carried_out(
    make_engine: MakeEngine, server: WireServer, api: str
) -> None:
    engine = engine_with(make_engine, server, api)
    server.script.append(Reply(refusal=WORDS, calls=[Called("write", {"path": "made.txt", "content": "x"})]))
    run = ask(engine, "do it")
    assert run.state == "ok"
    assert WORDS in (run.text or "")
    assert not (engine.loaded.state_dir / "workspace" / "made.txt").exists()
    assert [entry.role for entry in engine.log()] == ["user", "assistant"]
    (answer,) = [entry for entry in engine.log() if isinstance(entry, AssistantEntry)]
    assert (answer.tool_calls, len(server.requests)) == ([], 1)
    assert ask(engine, "and now?").text == "ok", "and the conversation goes on"


@pytest.mark.parametrize("api", APIS)
def test_an_empty_answer_from_every_key_is_an_error_that_people_see(
    make_engine: MakeEngine, server: WireServer, api: Api
) -> None:
    wired = wire_engine(make_engine, server, api=api, model={"primary": "a/m", "fallbacks": ["b/m"]})
    for key in ("a1:m", "a2:m", "b1:m"):
        wired.plan(key, *[Reply("")] * 9)
    run = wired.turn()
    assert (run.state, run.text, run.reason) == ("error", None, Why.CUT)
    assert "empty" in (run.error or "")
    asked = wired.asked()
    assert (asked[:3], set(asked[3:])) == (["a1:m", "a2:m", "b1:m"], {"b1:m"}), "the last one is tried again"
    assert {attempt.reason for attempt in run.model_attempts} == {Why.CUT}
    assert [call.outcome for call in wired.ledger()] == ["cut"] * len(asked)
    last = wired.engine.log()[-1]
    assert isinstance(last, NoticeEntry)
    assert "empty" in last.text, "it stays in the log"
