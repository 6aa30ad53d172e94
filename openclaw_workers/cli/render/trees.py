"""Trees of runs and of sessions as text, from the same fields as their JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from openclaw_workers.cli.render.branches import branches, short
from openclaw_workers.cli.render.runs import is_final
from openclaw_workers.cli.render.subagents import delivery_word
from openclaw_workers.cli.render.text import age, dollars, short_ids, short_key, span, table

Fields = Mapping[str, Any]


def tree_text(roots: Sequence[Fields]) -> str:
    head = ("TREE", "STATE", "LANE", "HOST", "AGE", "TOKENS", "COST", "RESULT", "RUN")
    names = short_ids([node["runId"] for node in nodes_of(roots)])
    rows = [
        (
            line + short(_name(node)),
            node["state"],
            node["lane"],
            node["host"],
            span(node["ageMs"]),
            node["tokens"],
            dollars(node["cost"]) if node["cost"] else None,  # the price may be unknown
            delivery_word(node["delivery"], node["deliveryTries"]),
            names[node["runId"]],
        )
        for line, node in branches(roots, lambda node: node["children"])
    ]
    return table(head, rows, right=("AGE", "TOKENS", "COST"), drop=("LANE",), cut=("TREE", "HOST"))


def tree_summary(roots: Sequence[Fields]) -> str:
    """One line with the sums over all trees."""
    nodes = list(nodes_of(roots))
    active = sum(not is_final(node) for node in nodes)
    tokens = sum(node["tokens"] for node in nodes)
    cost = sum(node["cost"] for node in nodes)
    plural = "run" if len(nodes) == 1 else "runs"
    return f"{len(nodes)} {plural}, {active} not ended, {tokens:,} tokens" + (f", {dollars(cost)}" if cost else "")


def nodes_of(roots: Sequence[Fields]) -> Iterator[Fields]:
    for root in roots:
        yield root
        yield from nodes_of(root["children"])


def _name(node: Fields) -> str:
    if node["kind"] == "reply":
        return "reply"
    return str(node["label"] or "") if node["parentRunId"] else str(node["sessionKey"])


def session_tree_text(roots: Sequence[Fields]) -> str:
    head = ("SESSION", "STATE", "TURNS", "TOKENS", "UPDATED", "KEY")
    rows = []
    for line, node in branches(roots, lambda node: node["children"]):
        key = node["sessionKey"]
        name = short(node["label"]) if node["spawnedBy"] and node["label"] else key
        facts = (node["state"], node["turns"], node["tokens"], age(node["updatedAt"]))
        rows.append((line + short_key(name), *facts, short_key(key) if name != key else ""))
    return table(head, rows, right=("TURNS", "TOKENS"), drop=("TOKENS",), cut=("SESSION",))
