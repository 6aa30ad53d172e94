"""How `offline/demo` talks about its memory: what it saved, and what it found there, with the source."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from openclaw_workers.domain.transcript import ToolResultEntry

SEARCH: Final = "memory_search"
WRITE: Final = "memory_write"
_HEADING = re.compile(r"\s*(?:#|- Session|Source: )")


def described(result: ToolResultEntry) -> str:
    """What to say about the result of a memory tool; "" for other tools and for failures."""
    if result.tool_name not in (SEARCH, WRITE) or result.is_error:
        return ""
    try:
        answer: dict[str, Any] = json.loads("".join(block.text for block in result.content))
    except ValueError:
        return ""
    return _saved(answer) if result.tool_name == WRITE else _found(answer)


def _saved(answer: dict[str, Any]) -> str:
    return f"Saved to {answer['path']}#L{answer['startLine']}." if answer.get("written") else ""


def _found(answer: dict[str, Any]) -> str:
    if why := answer.get("unavailable"):
        return f"I could not search my memory: {why}"
    results = answer.get("results") or []
    if not results:
        return "I found nothing about that in my memory."
    best = results[0]
    lines = [line.strip() for line in str(best["snippet"]).splitlines()]
    shown = [line for line in lines if line and not _HEADING.match(line)][:6]
    source = f"\n\nSource: {best['citation']}" if "citation" in best else ""
    return "From my memory:\n" + "\n".join(shown) + source
