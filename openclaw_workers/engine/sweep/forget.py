"""The records of a batch whose time to keep them is over."""

from __future__ import annotations

from openclaw_workers.domain.ids import BatchId, SessionKey
from openclaw_workers.store.tree import Tree


class DueRecords:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def handle(self, name: str) -> None:
        batch, _, session = name.partition(" ")
        self._tree.forget(BatchId(batch), SessionKey(session))
