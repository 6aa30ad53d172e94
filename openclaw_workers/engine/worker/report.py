"""What a worker process says of its plugins and MCP servers, apart from the facts of each tick: it seldom changes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

REPEAT_SECONDS = 30.0
"""A report that has not changed is sent again after this time, because Redis keeps it for two minutes."""

Part = Callable[[], Any]


class WorkerReport:
    def __init__(
        self,
        parts: Mapping[str, Part],
        send: Callable[[Mapping[str, str]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parts = parts
        self._send = send
        self._clock = clock
        self._sent: dict[str, str] = {}
        self._sent_at = 0.0

    def send_if_due(self) -> None:
        """Send all parts as JSON if one has changed, or now and then.

        Raises:
            StoreUnavailable: it was not sent; the next call tries again.
        """
        texts = {name: json.dumps(part()) for name, part in self._parts.items()}
        if texts == self._sent and self._clock() - self._sent_at <= REPEAT_SECONDS:
            return
        self._send(texts)
        self._sent, self._sent_at = texts, self._clock()
