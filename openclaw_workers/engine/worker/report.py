"""What a worker process says of itself with its ticks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

REPEAT_SECONDS = 30.0
"""A part that has not changed is repeated after this time, in case Redis has lost it."""

Part = Callable[[], Any]


class WorkerReport:
    """Facts that never change, and larger parts as JSON that are sent only when they change."""

    def __init__(
        self, facts: Mapping[str, str], parts: Mapping[str, Part], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._facts = dict(facts)
        self._parts = parts
        self._clock = clock
        self._sent: dict[str, tuple[str, float]] = {}

    def due(self) -> dict[str, str]:
        """The fields to send with this tick."""
        now, fields = self._clock(), dict(self._facts)
        for name, part in self._parts.items():
            text, (before, at) = json.dumps(part()), self._sent.get(name, ("", 0.0))
            if text != before or now - at > REPEAT_SECONDS:
                fields[name] = text
                self._sent[name] = (text, now)
        return fields
