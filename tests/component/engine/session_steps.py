"""Short ways to have sessions use the session tools, and to read what they were told."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.domain.ids import BatchId, SessionKey
from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry, UserEntry
from openclaw_workers.domain.untrusted import CLOSE
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.support.programs import Step, as_text, call, program

OTHER = SessionKey("agent:main:other")


def text(*steps: Step) -> str:
    return as_text(program(*steps))


def use(tool: str, **arguments: Any) -> Step:
    return call({"tool": tool, "input": arguments})


def send(to: str, message: str, **more: Any) -> Step:
    return use("sessions_send", sessionKey=to, message=message, **more)


def tool_answers(engine: EngineHarness, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """What the tools answered, as JSON; replies without the markers around them."""
    results = [entry for entry in engine.log(session) if isinstance(entry, ToolResultEntry)]
    answers = [json.loads(entry.content[0].text) for entry in results]
    return [{**each, "reply": bare(each["reply"])} if each.get("reply") else each for each in answers]


def bare(quoted: str) -> str:
    """A quoted text without the markers around it, which must be there."""
    first, _, rest = quoted.partition("\n")
    text, _, last = rest.rpartition("\n")
    assert first.startswith("<<<UNTRUSTED_TEXT from="), quoted
    assert last == CLOSE, quoted
    return text


def said(engine: EngineHarness, session: SessionKey = SESSION) -> list[str]:
    """The final answers of a session."""
    entries = engine.log(session)
    return [entry.text for entry in entries if isinstance(entry, AssistantEntry) and not entry.tool_calls]


def heard(engine: EngineHarness, session: SessionKey = SESSION, provenance: str = "inter_session") -> list[str]:
    entries = [entry for entry in engine.log(session) if isinstance(entry, UserEntry)]
    return [entry.content[0].text for entry in entries if entry.provenance == provenance]


def run_on(engine: EngineHarness) -> None:
    """Work and sweep until nothing moves; batches are announced as soon as they have settled."""
    moved = True
    while moved:
        engine.work()
        engine.sweeper.sweep()
        due = [str(item) for item in engine.stores.redis.zrange(engine.stores.keys.due, 0, -1)]
        for item in due:
            if item.startswith("batch|"):
                engine.announcer.announce(BatchId(item.removeprefix("batch|")))
        moved = bool(engine.waker.turns) or any(item.startswith("relay|") for item in due)
