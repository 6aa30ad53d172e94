"""Runs as trees: what each run spawned, and the replies to the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.subagents import spawn_order
from openclaw_workers.domain.tree import Batch, announce_id
from openclaw_workers.views.runs import pick

BEFORE_STATE = ("runId", "sessionKey", "label", "title", "kind", "state", "outcome")
AFTER_STATE = (
    "reason",
    "agentId",
    "parentRunId",
    "lane",
    "host",
    "depth",
    "attempt",
    "attempts",
    "parked",
    "queuedAt",
    "startedAt",
    "endedAt",
    "deadlineAt",
)


@dataclass(slots=True)
class Node:
    """A run with the runs below it."""

    run: Run
    batch: Batch | None = None
    """The batch that a sub-agent's run belongs to."""
    is_reply: bool = False
    """This turn reads the results of the sub-agents above it."""
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_settled(self) -> bool:
        """No run of the tree is active, and no result waits for delivery."""
        return all(_is_done(node) for node in self.walk())

    @property
    def subtree_tokens(self) -> int:
        return sum(node.run.usage.total for node in self.walk())

    @property
    def subtree_cost(self) -> float:
        return sum(node.run.cost for node in self.walk())

    @property
    def name(self) -> str:
        if self.is_reply:
            return "reply"
        return self.run.label if self.run.is_child else self.run.session_key


def build_trees(runs: Iterable[Run], batches: dict[BatchId, Batch]) -> list[Node]:
    """Trees, oldest first. A run whose parent is not among `runs` is the root of its own tree."""
    ordered = sorted({run.id: run for run in runs}.values(), key=spawn_order)
    nodes = {run.id: Node(run, batches.get(run.batch) if run.batch else None) for run in ordered}
    spawned_by = {announce_id(run.batch): run.parent_run_id for run in ordered if run.batch}
    roots: list[Node] = []
    for node in nodes.values():
        parent = nodes.get(_parent(node.run, spawned_by))
        if parent is None:
            roots.append(node)
        else:
            node.is_reply = not node.run.is_child
            parent.children.append(node)
    return roots


def find_node(roots: Iterable[Node], run: RunId) -> Node | None:
    return next((node for root in roots for node in root.walk() if node.run.id == run), None)


def age_ms(run: Run, now_ms: int) -> int:
    """From the run's start to its end, or until now."""
    return max(0, (run.ended_at or now_ms) - run.queued_at)


def trees_json(
    roots: Iterable[Node], unreadable: int, now_ms: int, budget_of: Callable[[SessionKey], dict[str, Any] | None]
) -> dict[str, Any]:
    """`unreadable` is the number of damaged records that were left out."""
    trees = [{**tree_json(root, now_ms), "budget": budget_of(root_session(root.run))} for root in roots]
    return {"trees": trees, "unreadable": unreadable}


def root_session(run: Run) -> SessionKey:
    """The session at the root of the run's tree."""
    return run.root_session_key or run.session_key


def tree_json(node: Node, now_ms: int) -> dict[str, Any]:
    """docs/cli.md describes the fields. Only a root has a `budget`."""
    run = node.run
    return {
        **pick(run, BEFORE_STATE),
        **({"kind": "reply"} if node.is_reply else {}),
        "settled": node.is_settled,
        "delivery": node.batch.state if node.batch else None,
        "deliveryTries": node.batch.tries if node.batch else None,
        **pick(run, AFTER_STATE),
        "ageMs": age_ms(run, now_ms),
        **pick(run, ("model", "usage", "tokens", "cost")),
        "subtreeTokens": node.subtree_tokens,
        "subtreeCost": node.subtree_cost,
        "budget": None,
        **pick(run, ("error",)),
        "children": [tree_json(child, now_ms) for child in node.children],
    }


def _parent(run: Run, spawned_by: dict[Any, RunId | None]) -> RunId:
    """The run that spawned this one, or whose sub-agents' results started it."""
    if run.is_child:
        return run.parent_run_id or RunId("")
    parent = spawned_by.get(run.covers[0]) if run.covers else None
    return RunId("") if parent is None or parent == run.id else parent


def _is_done(node: Node) -> bool:
    if not node.run.state.is_final or (node.run.is_child and node.run.settled_at is None):
        return False
    return node.batch is None or not node.batch.state.is_pending
