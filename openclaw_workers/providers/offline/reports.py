"""How `offline/demo` reports on its sub-agents: whether they were started, and their results."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from openclaw_workers.domain.shorten import one_line, shorten
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.providers.offline.fanout import amount, sub_agents

_SHOWN_CHARS = 160

_FIELD = re.compile(
    r"\s*(?:[-*#>]+\s*)?(?:\d{1,3}[.)]\s*)?\**(?P<name>label|status|result)\**\s*:\**\s*(?P<value>.*)", re.I
)
_FENCE = re.compile(r"\s*(?P<mark>`{3,}|<<<(?P<word>\w+)\s*\Z|<<<|<(?P<tag>[\w-]+)[^>]*>\s*\Z)")


def describe_spawns(results: Sequence[ToolResultEntry]) -> str:
    """One sentence for the started sub-agents, and one for each reason why others were not started."""
    refused: Counter[str] = Counter()
    for result in results:
        if why := _refusal(result.text, is_error=result.is_error):
            refused[why] += 1
    working = len(results) - refused.total()
    match working:
        case 0:
            sentences = ["No sub-agent was started."]
        case 1:
            sentences = ["One sub-agent is at work; its result comes by itself."]
        case _:
            sentences = [f"{sub_agents(working).capitalize()} are at work; their results come by themselves."]
    sentences += [f"{amount(n).capitalize()} could not be started: {why}" for why, n in refused.items()]
    return " ".join(sentences)


def _refusal(said: str, *, is_error: bool) -> str:
    """Why a call started nothing; empty if it started a sub-agent."""
    try:
        reply = json.loads(said)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        return _cut(said) or "it was not said why"
    if reply.get("status") == "accepted" and not is_error:
        return ""
    why = next((str(reply[name]) for name in ("error", "message", "reason", "note") if reply.get(name)), "")
    return _cut(": ".join(part for part in (str(reply.get("status", "")), why) if part)) or "it was not said why"


@dataclass(slots=True)
class _Child:
    label: str = ""
    status: str = ""
    result: str = ""


def describe_announce(text: str) -> str:
    """A line for each sub-agent: its label, its status, and the start of its result."""
    found = _children(text)
    if not found:
        return f"Sub-agents have reported: {_cut(text)}"
    ends = Counter(child.status or "unknown" for child in found)
    if list(ends) in (["ok"], ["completed"]):
        head = f"{sub_agents(len(found)).capitalize()} {'are' if len(found) > 1 else 'is'} done."
    else:
        head = f"{sub_agents(len(found)).capitalize()} ended: "
        head += ", ".join(f"{amount(n)} {status}" for status, n in ends.items()) + "."
    rows = [
        f"- {child.label or f'sub-agent {number}'}: {child.status or 'unknown'}"
        + (f" – {child.result}" if child.result else "")
        for number, child in enumerate(found, 1)
    ]
    return "\n".join([head, *rows])


def _children(text: str) -> list[_Child]:
    """Parse the `name: value` lines of each sub-agent; such lines inside a quoted result do not count."""
    found: list[_Child] = []
    in_result, closing = False, ""
    for line in text.splitlines():
        # A child chooses what its result says, so a `status:` line in it must not count as the child's own.
        field = None if closing else _FIELD.match(line)
        if closing and line.lstrip().startswith(closing):
            in_result, closing = False, ""
        elif field and field["name"].lower() == "result":
            in_result = True
            _begin_result(found, field["value"])
        elif field:
            in_result = False
            _note(found, field["name"].lower(), field["value"].strip())
        elif in_result and not closing and (fence := _FENCE.match(line)):
            closing = _closing(fence)
        elif in_result:
            _begin_result(found, line)
    return found


def _closing(fence: re.Match[str]) -> str:
    """The start of the line that closes a quotation: </tag, or WORD>>> after <<<WORD, else the opening mark."""
    if fence["tag"]:
        return f"</{fence['tag']}"
    return f"{fence['word']}>>>" if fence["word"] else fence["mark"]


def _note(found: list[_Child], name: str, value: str) -> None:
    """Store a field; if the last child already has it, a new child begins."""
    if not found or getattr(found[-1], name):
        found.append(_Child())
    setattr(found[-1], name, value)


def _begin_result(found: list[_Child], line: str) -> None:
    """Keep the first line of a result, and the second if the first ends with a colon."""
    if found and line.strip() and (not found[-1].result or found[-1].result.endswith(":")):
        found[-1].result = _cut(f"{found[-1].result} {line}")


def _cut(text: str) -> str:
    return shorten(one_line(text), _SHOWN_CHARS)
