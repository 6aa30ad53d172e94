"""Turns that use the memory tools, with an owner of the index in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import ToolResultEntry
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.support.programs import as_text, call, program, say


@contextmanager
def serving(engine: EngineHarness) -> Iterator[EngineHarness]:
    """The engine's own process owns the memory index meanwhile."""
    service = engine.built.place_service
    service.start()
    try:
        yield engine
    finally:
        service.stop()


def use(engine: EngineHarness, tool: str, session: SessionKey = SESSION, **given: Any) -> dict[str, Any]:
    """The result of one call of a memory tool in a turn of the session."""
    engine.say(as_text(program(call({"tool": tool, "input": given}), say("done"))), session)
    engine.work()
    results = [entry for entry in engine.log(session) if isinstance(entry, ToolResultEntry)]
    found: dict[str, Any] = json.loads("".join(block.text for block in results[-1].content))
    return found


def snippets(found: dict[str, Any]) -> str:
    return "\n".join(result["snippet"] for result in found["results"])


def workspace(engine: EngineHarness, agent: str = "main") -> Path:
    path = engine.built.agents.workspace(agent)
    (path / "memory").mkdir(parents=True, exist_ok=True)
    return path
