"""A session, or one run of it, whose sub-agents must be stopped."""

from __future__ import annotations

from openclaw_workers.engine.control import Control
from openclaw_workers.store.tree import parse_stop_order_name


class DueStopOrders:
    def __init__(self, control: Control) -> None:
        self._control = control

    def handle(self, name: str) -> None:
        self._control.stop_children(*parse_stop_order_name(name))
