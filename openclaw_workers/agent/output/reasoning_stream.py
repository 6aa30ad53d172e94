"""What of a model's thinking is shown to people, if they asked for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.encoding import replace_surrogates

EVENT = "thinking.delta"


@dataclass
class ReasoningStream:
    """Of one call. They are events only: the transcript keeps them with the answer."""

    level: str
    """off, on (each thought when it is complete) or stream (as it comes)."""
    show: Callable[[str, Mapping[str, Any]], None]
    _held: str = ""

    def add(self, text: str) -> None:
        if self.level == "stream":
            self.show(EVENT, {"text": replace_surrogates(text)})
        elif self.level == "on":
            self._held += replace_surrogates(text)

    def end(self) -> None:
        """The model goes on to speak or to act."""
        if self._held:
            self.show(EVENT, {"text": self._held})
        self._held = ""
