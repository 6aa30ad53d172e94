"""The trees of runs that a person asked for, read again on each look."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.ledger import day_of
from openclaw_workers.queries.runs import find_run
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.views.trees import Node, build_trees, find_node, root_session, trees_json

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation

RECENT = 500


class TreeQuery:
    def __init__(self, installation: Installation, of: str | None, limit: int) -> None:
        """`of` is a run id, for the tree below that run; a session, for its trees; or None, for all active trees.

        `limit` is the number of settled trees of a session to show if none is active.
        """
        self._installation = installation
        self._limit = limit
        self._run: RunId | None = None
        self._session: SessionKey | None = None
        if of is not None and of.startswith("run-"):
            run = find_run(installation, of)
            self._run = run.id
            self._session = root_session(run)
        elif of is not None:
            self._session = find_session(installation, of)[0]

    @property
    def is_named(self) -> bool:
        return self._session is not None

    def read(self) -> list[Node]:
        if self._session is None:
            return self._active()
        roots = trees_of(self._installation, self._session)
        if self._run is not None:
            # A run that spawned nothing is not kept with its session, unless it is the last one.
            return [find_node(roots, self._run) or Node(find_run(self._installation, self._run))]
        active = [root for root in roots if not root.is_settled]
        return active or roots[-self._limit :]

    def _active(self) -> list[Node]:
        """Every tree that has not settled, or else the last one."""
        recent = list(islice(self._installation.stores.reader.each_run(RECENT), RECENT))
        live = [run for run in recent if not run.state.is_final or (run.is_child and run.settled_at is None)]
        last = next((run for run in recent if run.is_child), recent[0] if recent else None)
        # Between two turns no run of a tree is active, but a result still waits for delivery.
        undelivered = [batch.root for batch in self._installation.trees.undelivered()]
        sessions = dict.fromkeys([*map(root_session, live), *undelivered])
        active = [root for session in sessions for root in trees_of(self._installation, session) if not root.is_settled]
        if active or last is None:
            return active
        return trees_of(self._installation, root_session(last))[-1:]


def recent_trees(installation: Installation, limit: int, agent: str | None = None) -> list[Node]:
    """The newest trees, newest first: a turn that a person began, with all that came of it."""
    found: list[Node] = []
    seen: set[RunId] = set()
    known: dict[SessionKey, list[Node]] = {}
    for run in installation.stores.reader.each_run(RECENT):
        # A run of a tree that is already shown; a tree has many recent runs.
        if run.id in seen or (agent is not None and run.agent_id != agent):
            continue
        session = root_session(run)
        roots = known.get(session) or known.setdefault(session, trees_of(installation, session))
        root = next((each for each in roots if find_node([each], run.id)), None)
        node = root or Node(run)
        # Without this, each of its sub-agents would be listed as a tree of its own.
        seen.update(each.run.id for each in node.walk())
        found.append(node)
        if len(found) >= limit:
            break
    return found


def trees_of(installation: Installation, session: SessionKey) -> list[Node]:
    runs = installation.trees.runs(session)
    return build_trees(runs, installation.trees.batches(run.batch for run in runs if run.batch))


def trees_answer(installation: Installation, roots: list[Node]) -> dict[str, Any]:
    return {
        "ok": True,
        **trees_json(roots, installation.stores.reader.unreadable, now_ms(), partial(budget_of, installation)),
    }


def budget_of(installation: Installation, root: SessionKey) -> dict[str, Any] | None:
    """What a tree may spend today, and what it has spent; None without such a budget."""
    given = installation.loaded.settings.budgets.tree.model_dump(exclude_none=True)
    if not given:
        return None
    spent = installation.stores.ledger.spent(f"tree {root} {day_of(now_ms())}")
    return {"limits": given, "spent": {name: spent.get(name, 0.0) for name in given}}
