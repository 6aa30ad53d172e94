"""Calls that a model refuses and that are made again in another form: each is one call, and is recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.errors import FailureReason as Why
from openclaw_workers.store.llm.ledger import Ledger
from tests.component.engine.conftest import MakeEngine
from tests.component.engine.model_turns import ask
from tests.component.engine.wire_harness import provider, wire_engine
from tests.support.wire import Failure, Reply, WireServer

PROGRAM = Path(__file__).parents[2] / "support" / "wire" / "cli_agent.py"
REFUSED = Failure(400, "reasoning effort: this level is not supported by this model")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-completions", "openai-responses"])
def test_a_refused_thinking_level_is_an_attempt_and_in_the_ledger(
    make_engine: MakeEngine, server: WireServer, api: Api
) -> None:
    model = f"claude-thinks-{api}-5"  # what a model refuses is known to the whole process
    a = provider(server, api, "a1", models=(model,), limits={"concurrent": 1, "requestsPerMinute": 10})
    a["models"][0]["reasoning"] = True
    name = f"a/{model}"
    wired = wire_engine(
        make_engine, server, a=a, model={"primary": name, "fallbacks": ["b/m"]}, defaults={"thinkingDefault": "high"}
    )
    server.script += [REFUSED, REFUSED, Reply("fine", input=10, output=5)]
    run = wired.turn()

    assert (run.text, run.model, run.fallback_from) == ("fine", name, None)
    assert [(each.model, each.profile, each.reason, each.status) for each in run.model_attempts] == [
        (name, "a1", Why.FORMAT, 400)
    ] * 2
    assert all(each.again for each in run.model_attempts)
    calls = wired.ledger()
    assert [(call.outcome, call.usage.total) for call in calls] == [("format", 0), ("format", 0), ("ok", 15)]
    assert len(server.requests) == 3
    redis, keys = wired.engine.stores.redis, wired.engine.stores.keys
    assert (redis.zcard(keys.recent("a")), redis.zcard(keys.working("a"))) == (3, 0), "each had a place of its own"
    assert wired.pause_ms("a/a1") == 0, "it says nothing about the key"

    again = wired.turn("and now?")
    assert (again.model_attempts, len(server.requests)) == ([], 4), "what was refused is not asked again"


def test_refused_calls_count_against_a_budget(make_engine: MakeEngine, server: WireServer) -> None:
    a = provider(server, "openai-completions", "a1", models=("counted",))
    a["models"][0]["reasoning"] = True
    wired = wire_engine(
        make_engine,
        server,
        a=a,
        model="a/counted",
        defaults={"thinkingDefault": "high"},
        budgets={"day": {"calls": 2}},
    )
    server.script += [REFUSED, REFUSED, Reply("too late")]
    run = wired.turn()
    assert (run.reason, len(server.requests), len(wired.ledger())) == ("budget", 2, 2)


def program_engine(home: Path) -> dict[str, Any]:
    """An agent whose model is the small program."""
    helper = {
        "command": [sys.executable, str(PROGRAM), "--home", str(home), "--json"],
        "output": "jsonl",
        "textField": "message.text",
        "sessionField": "session_id",
        "resumeArgs": ["--resume", "{session}"],
    }
    return {"models": {"cli": {"helper": helper}}, "agents": {"defaults": {"model": "cli/helper"}}}


def test_a_program_that_goes_on_with_its_session_hears_what_a_message_adds(
    make_engine: MakeEngine, tmp_path: Path
) -> None:
    engine = make_engine(program_engine(tmp_path))
    ask(engine, "one")
    assert ask(engine, "two", extra_system_prompt="Speak Latin.").text == "turn 2: Speak Latin.\n\ntwo"
    assert ask(engine, "three").text == "turn 3: three"


def test_a_program_that_forgot_its_session_was_called_twice(make_engine: MakeEngine, tmp_path: Path) -> None:
    engine = make_engine(program_engine(tmp_path))
    ask(engine, "one")
    for memory in tmp_path.glob("s-*"):
        memory.unlink()
    run = ask(engine, "two")

    assert "User: one" in (run.text or "")
    assert [(each.model, each.reason) for each in run.model_attempts] == [("cli/helper", Why.SESSION_EXPIRED)]
    calls = [call for call in Ledger(engine.stores.redis, engine.stores.keys).calls() if call.run == run.id]
    assert sorted(call.outcome for call in calls) == ["ok", "session_expired"]
