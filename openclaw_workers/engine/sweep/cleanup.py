"""A session whose time has come: a sub-agent's whose result was delivered, or a transient one."""

from __future__ import annotations

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.engine.control import Control
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.keys import CLEANUP
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import Tree

RETRY_MS = 10_000


class DueCleanups:
    def __init__(self, due: DueItems, reader: Reader, tree: Tree, control: Control) -> None:
        self._due = due
        self._reader = reader
        self._tree = tree
        self._control = control

    def handle(self, session_key: str) -> None:
        """Archive the session, unless somebody has used it or one of its own sub-agents in the meantime."""
        item = f"{CLEANUP}{session_key}"
        session = SessionKey(session_key)
        row = self._reader.session(session)
        if row is not None:
            fresh_ms = row.updated_at + (row.archive_after_ms or 0) - self._due.now_ms()
            waits = fresh_ms > 0 or any(map(self._tree.batch, self._tree.batches(session)))
            # `retire` checks the time of last use again in its script, so a message that arrives now is not lost.
            if waits or not self._control.retire(session, unused_since=row.updated_at):
                self._due.later(item, max(fresh_ms, RETRY_MS))
                return
        self._due.done(item)
