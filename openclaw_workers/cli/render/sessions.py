"""A session as text, from the same fields as its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.cli.render.branches import short
from openclaw_workers.cli.render.text import age, cost_of_calls, short_key, table

Fields = Mapping[str, Any]

LEVELS = ("thinkingLevel", "reasoningLevel", "verboseLevel")


def session_table(found: Sequence[Fields]) -> str:
    head = ("SESSION", "LABEL", "STATE", "WAITING", "TURNS", "TOKENS", "UPDATED")
    rows = [
        (
            short_key(each["sessionKey"]),
            short(each["label"] or ""),
            each["state"],
            each["waiting"],
            each["turns"],
            each["tokens"],
            age(each["updatedAt"]),
        )
        for each in found
    ]
    least = ("TURNS", "TOKENS", "WAITING")  # a key that is cut names no session, so others give way to it
    return table(head, rows, right=least, drop=least, cut=("LABEL", "SESSION"))


def cleanup_table(found: Sequence[Fields]) -> str:
    head = ("SESSION", "ACTION", "WHY", "UPDATED", "DONE")
    rows = [
        (
            short_key(each["sessionKey"]),
            each["action"],
            each["why"],
            age(each["updatedAt"]),
            "yes" if each["done"] else "no",
        )
        for each in found
    ]
    return table(head, rows, cut=("WHY", "SESSION"))


def session_lines(session: Fields) -> list[tuple[str, object]]:
    """Name and value of each line that `ocw sessions show` prints."""
    row, state = session["row"], session["state"]
    thinking, reasoning, verbose = (_level(session, name) for name in LEVELS)
    calls = f"for {session['modelCalls']} model call(s), {session['failedCalls']} failed"
    cost = cost_of_calls(session["cost"], session["modelCalls"], session["unpricedCalls"])
    return [
        ("session", session["sessionKey"]),
        ("id", session["sessionId"]),
        ("agent", session["agentId"]),
        ("kind", session["kind"]),
        ("state", f"{state} ({session['runId']})" if session["runId"] else state),
        ("worker", session["worker"]),
        ("waiting", f"{session['waiting']} message(s)"),
        ("turns", session["turns"]),
        ("tokens", f"{row['inputTokens']} in, {row['outputTokens']} out, {row['contextTokens']} in context"),
        ("cost", f"{cost} {calls}"),
        ("created", age(session["createdAt"])),
        ("updated", age(session["updatedAt"])),
        ("model", "/".join(row[name] for name in ("providerOverride", "modelOverride") if row.get(name))),
        ("key", row.get("authProfilePin")),
        ("thinking", thinking),
        ("reasoning", reasoning),
        ("verbose", verbose),
        ("queue", row.get("queueMode")),
        ("channel", row.get("lastChannel")),
        ("spawned by", row.get("spawnedBy")),
        ("messages", ", ".join(f"{count} {state}" for state, count in sorted(session["receipts"].items()))),
    ]


def _level(session: Fields, name: str) -> str | None:
    """A level of the next turn. One that the session does not set itself is marked as a default."""
    level: str | None = session[name]
    return level if session["row"].get(name) or not level else f"{level} (default)"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
