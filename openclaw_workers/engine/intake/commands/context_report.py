"""`/context`: what the window of a session holds, by its parts.

The prompt is built where the workspace is, so the worker leaves its sizes in the session's row with each turn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from openclaw_workers.domain.session_row import SkillsSnapshot
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    CompactionEntry,
    ModelVisibleEntry,
    ToolResultEntry,
    UserEntry,
)
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.engine.intake.commands.models import CLEARING
from openclaw_workers.errors import BadInput

FEWEST_TOKENS = 1000
_NUMBER = re.compile(r"(\d{1,9})(k?)")
_ROLES = {UserEntry: "user messages", AssistantEntry: "assistant messages", ToolResultEntry: "tool results"}


LARGEST = 5
"""How many of the largest entries `/context detail` names."""


def context(ctx: CommandContext, argument: str) -> str:
    is_detailed = argument.lower() in ("detail", "details")
    if argument and not is_detailed:
        return _limit(ctx, argument)
    row = ctx.row()
    report = row.system_prompt_report if row else None
    if row is None or not report:
        return "Nothing is known yet; send a message first."
    window = int(report.get("window", 0))
    lines = [f"Model {report.get('model')}, window {window:,} tokens"]
    if row.context_tokens and window:
        lines.append(f"Last request {row.context_tokens:,} tokens, {row.context_tokens / window:.0%} of it")
    seen = list(_seen(ctx))
    lines += ["", *size_lines(report)]
    lines += ["", *_tools(report), "", *_skills(row.skills_snapshot)] if is_detailed else []
    lines += ["", *_conversation(seen, row.compaction_count)]
    lines += ["", *_largest(seen)] if is_detailed and seen else []
    return "\n".join(lines)


def _tools(report: dict[str, Any]) -> list[str]:
    """One line per tool, the largest first."""
    listed = sorted(report.get("tools", {}).get("list", []), key=lambda tool: -tool["tokens"])
    return _aligned([(f"tool {tool['name']}", tool["chars"], tool["tokens"]) for tool in listed]) or ["no tools"]


def _skills(snapshot: SkillsSnapshot | None) -> list[str]:
    """The skills of the last turn, and where each was read from."""
    if snapshot is None or not snapshot.skills:
        return ["no skills"]
    places = {each.get("name"): each for each in snapshot.resolved_skills or ()}
    head = f"{len(snapshot.skills)} skills, {len(snapshot.prompt):,} characters, version {snapshot.version}"
    lines = []
    for skill in snapshot.skills:
        place = places.get(skill.name, {})
        key = f", key in {skill.primary_env}" if skill.primary_env else ""
        lines.append(f"  {skill.name}: {place.get('filePath', 'unknown place')} ({place.get('source', '?')}{key})")
    return [head, *lines]


def _largest(seen: Sequence[ModelVisibleEntry | CompactionEntry]) -> list[str]:
    """The entries that fill the window most, with the place of each counted from the newest."""
    sized = sorted(enumerate(seen, start=1), key=lambda item: -_tokens(item[1]))[:LARGEST]
    return [
        "largest entries (1 is the newest):",
        *(f"  {place}. {_role(entry)}: about {_tokens(entry):,} tokens" for place, entry in sized),
    ]


def _role(entry: ModelVisibleEntry | CompactionEntry) -> str:
    if isinstance(entry, ToolResultEntry):
        return f"result of {entry.tool_name}"
    return "summary" if isinstance(entry, CompactionEntry) else entry.role


def _tokens(entry: ModelVisibleEntry | CompactionEntry) -> int:
    return len(entry.summary) // 4 if isinstance(entry, CompactionEntry) else entry.approx_tokens


def _limit(ctx: CommandContext, argument: str) -> str:
    """`/context limit 50k`: how much of its window the model of this session is given at most."""
    word, _, wanted = argument.lower().partition(" ")
    number = _NUMBER.fullmatch(wanted.strip())
    if word == "limit" and wanted.strip() in CLEARING:
        ctx.patch("context", {"contextTokensOverride": ""})
        return "Context limit set: default."
    if word != "limit" or number is None:
        expected = "expected detail, or limit and a number of tokens such as 50k, or limit default"
        raise BadInput(f"/context does not know {argument!r}; {expected}")
    tokens = int(number[1]) * (1000 if number[2] else 1)
    if tokens < FEWEST_TOKENS:
        raise BadInput(f"a context of {tokens:,} tokens is too small; expected {FEWEST_TOKENS:,} or more")
    ctx.patch("context", {"contextTokensOverride": str(tokens)})
    return f"Context limit set: {tokens:,} tokens."


def size_lines(report: dict[str, Any]) -> list[str]:
    """The sizes of a prompt, one part per line."""
    parts, tools = report.get("parts", []), report.get("tools", {})
    rows = [(part["name"], part["chars"], part["tokens"]) for part in parts]
    rows = [("system prompt", sum(each[1] for each in rows), sum(each[2] for each in rows))] + [
        (f"  {name}", chars, tokens) for name, chars, tokens in rows
    ]
    rows.append((f"{tools.get('count', 0)} tools", tools.get("chars", 0), tools.get("tokens", 0)))
    lines = _aligned(rows)
    for file in report.get("files", []):
        cut = "" if file["shown"] >= file["chars"] else f", of which {file['shown']:,} are shown"
        lines.append(f"file {file['name']}: {file['chars']:,} characters{cut}")
    return lines


def _conversation(seen: Sequence[ModelVisibleEntry | CompactionEntry], compactions: int) -> list[str]:
    count: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for entry in seen:
        role = "summary" if isinstance(entry, CompactionEntry) else _ROLES[type(entry)]
        count[role] += 1
        tokens[role] += _tokens(entry)
    times = f" ({compactions} time(s) compacted)" if compactions else ""
    shown = [role for role in ("summary", *_ROLES.values()) if count[role]]
    total = f"conversation{times}: about {sum(tokens.values()):,} tokens"
    return [total, *(f"  {role}: {count[role]:,}, about {tokens[role]:,} tokens" for role in shown)]


def _seen(ctx: CommandContext) -> Iterable[ModelVisibleEntry | CompactionEntry]:
    """What the log shows the model, newest first: back to what the latest compaction kept."""
    left: int | None = None
    for entry in (entry for page in ctx.reader.pages_back(ctx.session) for entry in reversed(page)):
        if left == 0:
            return
        if left is not None:
            left -= 1
        if isinstance(entry, CompactionEntry):
            if left is None:
                left = entry.kept
                yield entry
        elif isinstance(entry, UserEntry | AssistantEntry | ToolResultEntry):
            yield entry


def _aligned(rows: list[tuple[str, int, int]]) -> list[str]:
    width = max((len(name) for name, _, _ in rows), default=0)
    return [f"{name:<{width}}  {chars:>9,} characters  about {tokens:>7,} tokens" for name, chars, tokens in rows]
