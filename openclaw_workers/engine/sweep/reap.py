"""A session, or one run of it, whose sub-agents must be stopped."""

from __future__ import annotations

from openclaw_workers.engine.control import Control
from openclaw_workers.store.tree import reap_named


class DueReaps:
    def __init__(self, control: Control) -> None:
        self._control = control

    def handle(self, name: str) -> None:
        self._control.reap(*reap_named(name))
