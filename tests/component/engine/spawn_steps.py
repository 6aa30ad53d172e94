"""Steps of tests of `sessions_spawn`."""

from __future__ import annotations

import json
from typing import Any

from tests.component.engine.conftest import EngineHarness
from tests.component.engine.tree_builder import (
    CHILD,
    child,
    text,
)
from tests.support.programs import program, say, spawn


def nested(engine: EngineHarness, **more: Any) -> dict[str, Any]:
    """What `sessions_spawn` answers to a child."""
    middle = program(spawn(CHILD, **more), say("waiting"), say("done"))
    engine.say(text(spawn(middle), say("spawned"), say("heard")))
    engine.runner.run(*engine.waker.turns.pop(0))
    engine.runner.run(*engine.waker.turns.pop(0))
    parent = child(engine)
    (result,) = [entry for entry in engine.log(parent.session_key) if entry.role == "toolResult"]
    reported = result.content[0].text
    return json.loads(reported) if reported.startswith("{") else {"error": reported}


def with_subagents(**keys: Any) -> dict[str, Any]:
    return {"agents": {"defaults": {"subagents": keys}}}
