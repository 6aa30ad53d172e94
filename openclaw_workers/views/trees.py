"""Runs as trees: what each one spawned, and the replies that came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.cli.find.subagents import spawned_at
from openclaw_workers.cli.output import dollars, now_ms, span, table
from openclaw_workers.cli.render.branches import branches, short
from openclaw_workers.domain.ids import BatchId, RunId
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import Batch, BatchState, announce_id


@dataclass(slots=True)
class Node:
    """A run and what came of it."""

    run: Run
    batch: Batch | None = None
    """The one it belongs to, if it is a child's."""
    is_reply: bool = False
    """A turn that reads the results of the sub-agents above it."""
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_settled(self) -> bool:
        """Nothing of it is at work, and no result is on its way."""
        return all(_is_done(node) for node in self.walk())

    @property
    def name(self) -> str:
        return "reply" if self.is_reply else self.run.label if self.run.is_child else self.run.session_key


def build_trees(runs: Iterable[Run], batches: dict[BatchId, Batch]) -> list[Node]:
    """Trees in the order in which they began. A run whose parent is not among them is a top."""
    ordered = sorted({run.id: run for run in runs}.values(), key=spawned_at)
    nodes = {run.id: Node(run, batches.get(run.batch) if run.batch else None) for run in ordered}
    spawned_by = {announce_id(run.batch): run.parent_run_id for run in ordered if run.batch}
    tops: list[Node] = []
    for node in nodes.values():
        above = nodes.get(_above(node.run, spawned_by))
        if above is None:
            tops.append(node)
        else:
            node.is_reply = not node.run.is_child
            above.children.append(node)
    return tops


def find(tops: Iterable[Node], run: RunId) -> Node | None:
    return next((node for top in tops for node in top.walk() if node.run.id == run), None)


def _above(run: Run, spawned_by: dict[Any, RunId | None]) -> RunId:
    """The run it was spawned by, or whose sub-agents' results started it."""
    if run.is_child:
        return run.parent_run_id or RunId("")
    above = spawned_by.get(run.covers[0]) if run.covers else None
    return RunId("") if above is None or above == run.id else above


def _is_done(node: Node) -> bool:
    if not node.run.state.is_final or (node.run.is_child and node.run.settled_at is None):
        return False
    return node.batch is None or not node.batch.state.is_pending


def delivery(batch: Batch | None) -> str:
    """How the announce of a child's result stands, in a word."""
    match batch:
        case None | Batch(state=BatchState.RUNNING):
            return ""
        case Batch(state=BatchState.SETTLED):
            return f"pending, {batch.tries} failed" if batch.tries else "pending"
        case Batch():
            return batch.state


def lived_ms(run: Run) -> int:
    """From its beginning to its end, or until now."""
    return max(0, (run.ended_at or now_ms()) - run.queued_at)


def carrier(run: Run) -> str:
    """The host and process that has it, or had it when it ended; nobody has what waits."""
    if run.state in (RunState.QUEUED, RunState.PARKED) or not run.attempts:
        return ""
    return run.attempts[-1].worker.rpartition("/")[0]


def tree_json(node: Node) -> dict[str, Any]:
    """For programs; docs/cli.md lists the fields."""
    run = node.run
    return {
        "runId": run.id,
        "sessionKey": run.session_key,
        "label": run.label or None,
        "kind": "reply" if node.is_reply else run.kind,
        "state": run.state,
        "outcome": run.outcome,
        "settled": node.is_settled,
        "delivery": node.batch.state if node.batch else None,
        "lane": run.lane,
        "host": carrier(run) or None,
        "depth": run.depth,
        "queuedAt": run.queued_at,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "ageMs": lived_ms(run),
        "tokens": run.usage.total,
        "cost": run.cost,
        "error": run.error or None,
        "children": [tree_json(child) for child in node.children],
    }


def tree_text(tops: list[Node]) -> str:
    head = ("TREE", "STATE", "LANE", "HOST", "AGE", "TOKENS", "COST", "RESULT", "RUN")
    rows = [
        (
            line + short(node.name),
            node.run.state,
            node.run.lane,
            carrier(node.run),
            span(lived_ms(node.run)),
            node.run.usage.total,
            dollars(node.run.cost),
            delivery(node.batch),
            node.run.id,
        )
        for line, node in branches(tops, lambda node: node.children)
    ]
    return table(head, rows, right=("AGE", "TOKENS", "COST"))


def summary(tops: list[Node]) -> str:
    """One line for all of it."""
    runs = [node.run for top in tops for node in top.walk()]
    at_work = sum(not run.state.is_final for run in runs)
    tokens, cost = sum(run.usage.total for run in runs), sum(run.cost for run in runs)
    plural = "run" if len(runs) == 1 else "runs"
    return f"{len(runs)} {plural}, {at_work} not ended, {tokens:,} tokens, {dollars(cost)}"
