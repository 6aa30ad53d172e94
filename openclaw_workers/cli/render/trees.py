"""Trees of runs and of sessions as text."""

from __future__ import annotations

from collections.abc import Callable

from openclaw_workers.cli.render.branches import branches, short
from openclaw_workers.cli.render.subagents import delivery_word
from openclaw_workers.cli.render.text import age, dollars, span, table
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.store.reader import SessionState
from openclaw_workers.views.runs import host_of
from openclaw_workers.views.session_trees import SessionNode
from openclaw_workers.views.trees import Node, age_ms


def tree_text(roots: list[Node]) -> str:
    head = ("TREE", "STATE", "LANE", "HOST", "AGE", "TOKENS", "COST", "RESULT", "RUN")
    rows = [
        (
            line + short(node.name),
            node.run.state,
            node.run.lane,
            host_of(node.run),
            span(age_ms(node.run, now_ms())),
            node.run.usage.total,
            dollars(node.run.cost),
            delivery_word(node.batch),
            node.run.id,
        )
        for line, node in branches(roots, lambda node: node.children)
    ]
    return table(head, rows, right=("AGE", "TOKENS", "COST"))


def tree_summary(roots: list[Node]) -> str:
    """One line with the sums over all trees."""
    runs = [node.run for root in roots for node in root.walk()]
    active = sum(not run.state.is_final for run in runs)
    tokens = sum(run.usage.total for run in runs)
    cost = sum(run.cost for run in runs)
    plural = "run" if len(runs) == 1 else "runs"
    return f"{len(runs)} {plural}, {active} not ended, {tokens:,} tokens, {dollars(cost)}"


def session_tree_text(roots: list[SessionNode], control_of: Callable[[SessionKey], SessionState]) -> str:
    head = ("SESSION", "STATE", "TURNS", "TOKENS", "UPDATED", "KEY")
    rows = []
    for line, node in branches(roots, lambda node: node.children):
        row = node.row
        name = short(row.label) if row.spawned_by and row.label else row.session_key
        key = row.session_key if name != row.session_key else ""
        state = control_of(row.session_key).state
        rows.append((line + name, state, row.turns, row.total_tokens, age(row.updated_at), key))
    return table(head, rows, right=("TURNS", "TOKENS"))
