"""The trees of runs that a person asked for, read again on each look."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.queries.runs import find_run
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.views.trees import Node, build_trees, find_node

if TYPE_CHECKING:
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.queries.installation import Installation

RECENT = 500


class TreeQuery:
    def __init__(self, place: Installation, of: str | None, limit: int) -> None:
        """`of` is a run id, for the tree below that run; a session, for its trees; or None, for all active trees.

        `limit` is the number of settled trees of a session to show if none is active.
        """
        self._place = place
        self._limit = limit
        self._run: RunId | None = None
        self._session: SessionKey | None = None
        if of is not None and of.startswith("run-"):
            run = find_run(place, of)
            self._run = run.id
            self._session = _root(run)
        elif of is not None:
            self._session = find_session(place, of)[0]

    @property
    def is_named(self) -> bool:
        return self._session is not None

    def read(self) -> list[Node]:
        if self._session is None:
            return self._active()
        roots = self._trees_of(self._session)
        if self._run is not None:
            found = find_node(roots, self._run)
            return [found] if found else []
        active = [root for root in roots if not root.is_settled]
        return active or roots[-self._limit :]

    def _active(self) -> list[Node]:
        """Every tree that has not settled, or else the last one."""
        recent = list(islice(self._place.stores.reader.each_run(RECENT), RECENT))
        live = [run for run in recent if not run.state.is_final or (run.is_child and run.settled_at is None)]
        last = next((run for run in recent if run.is_child), recent[0] if recent else None)
        # Between two turns no run of a tree is active, but a result still waits for delivery.
        undelivered = [batch.root for batch in self._place.trees.undelivered()]
        sessions = dict.fromkeys([*map(_root, live), *undelivered])
        active = [root for session in sessions for root in self._trees_of(session) if not root.is_settled]
        if active or last is None:
            return active
        return self._trees_of(_root(last))[-1:]

    def _trees_of(self, session: SessionKey) -> list[Node]:
        runs = self._place.trees.runs(session)
        return build_trees(runs, self._place.trees.batches(run.batch for run in runs if run.batch))


def _root(run: Run) -> SessionKey:
    return run.root_session_key or run.session_key
