"""Show a model's thinking to people who asked for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.encoding import replace_surrogates

EVENT = "thinking.delta"


@dataclass
class ReasoningStream:
    """The thinking of one model call, as events. The transcript stores it with the answer."""

    level: str
    """off, on (each block when it is complete) or stream (as it arrives)."""
    show: Callable[[str, Mapping[str, Any]], None]
    _held: str = ""

    def add(self, text: str) -> None:
        if self.level == "stream":
            self.show(EVENT, {"text": replace_surrogates(text)})
        elif self.level == "on":
            self._held += replace_surrogates(text)

    def end(self) -> None:
        """The thinking block is complete."""
        if self._held:
            self.show(EVENT, {"text": self._held})
        self._held = ""
