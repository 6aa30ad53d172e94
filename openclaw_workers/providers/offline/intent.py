"""What a row of the demo's tables consists of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.providers.offline.event_stream import Call

START: Final = r"\A\s*(?:(?:please|now|then|can you|could you)\s+)*(?:请|帮我)*\s*"


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    calls: tuple[Call, ...] = ()
    word_seconds: float = 0


@dataclass(frozen=True, slots=True)
class Intent:
    patterns: tuple[re.Pattern[str], ...]
    reply: Callable[[re.Match[str], list[ToolSpec]], Reply]


def use(calls: list[Call], text: str, tools: list[ToolSpec]) -> Reply:
    """The reply with these calls, all of the same tool, if the agent has it."""
    tool = calls[0].tool
    if all(tool != each.name for each in tools):
        return Reply(f"For this I need the tool `{tool}`, which this agent does not have.")
    return Reply(text, tuple(calls))


def patterns(*sources: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(source, re.IGNORECASE | re.DOTALL) for source in sources)
