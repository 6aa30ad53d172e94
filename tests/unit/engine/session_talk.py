"""Short ways to have sessions use the session tools, and to read what they were told."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.models.ids import BatchId, SessionKey
from openclaw_workers.models.transcript import AssistantEntry, ToolResultEntry, UserEntry
from openclaw_workers.models.untrusted import CLOSE
from tests.support.programs import Step, as_text, call, program
from tests.unit.engine.conftest import SESSION, House

OTHER = SessionKey("agent:main:other")


def text(*steps: Step) -> str:
    return as_text(program(*steps))


def use(tool: str, **arguments: Any) -> Step:
    return call({"tool": tool, "input": arguments})


def send(to: str, message: str, **more: Any) -> Step:
    return use("sessions_send", sessionKey=to, message=message, **more)


def told(house: House, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """What the tools answered, as JSON; replies without the markers around them."""
    results = [entry for entry in house.log(session) if isinstance(entry, ToolResultEntry)]
    answers = [json.loads(entry.content[0].text) for entry in results]
    return [{**each, "reply": bare(each["reply"])} if each.get("reply") else each for each in answers]


def bare(quoted: str) -> str:
    """A quoted text without the markers around it, which must be there."""
    first, _, rest = quoted.partition("\n")
    text, _, last = rest.rpartition("\n")
    assert first.startswith("<<<UNTRUSTED_TEXT from="), quoted
    assert last == CLOSE, quoted
    return text


def said(house: House, session: SessionKey = SESSION) -> list[str]:
    """The final answers of a session."""
    entries = house.log(session)
    return [entry.text for entry in entries if isinstance(entry, AssistantEntry) and not entry.tool_calls]


def heard(house: House, session: SessionKey = SESSION, provenance: str = "inter_session") -> list[str]:
    entries = [entry for entry in house.log(session) if isinstance(entry, UserEntry)]
    return [entry.content[0].text for entry in entries if entry.provenance == provenance]


def run_on(house: House) -> None:
    """Work and sweep until nothing moves; batches are announced as soon as they have settled."""
    moved = True
    while moved:
        house.work()
        house.sweeper.sweep()
        due = [str(item) for item in house.stores.redis.zrange(house.stores.keys.due, 0, -1)]
        for item in due:
            if item.startswith("batch|"):
                house.announcer.announce(BatchId(item.removeprefix("batch|")))
        moved = bool(house.waker.turns) or any(item.startswith("relay|") for item in due)
