"""What a turn waits for, in a few words and with the time that it takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from openclaw_workers.cli.render.activity import awaited
from openclaw_workers.domain.shorten import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from openclaw_workers.domain.events import Event

TOOL_CHARS = 50
WORKER = "a worker"


class TurnStatus:
    """Follows the events of a turn. `line` is empty while no turn runs."""

    def __init__(self, model: str = "", *, clock: Callable[[], float] = time.monotonic) -> None:
        """`model` is the one that is expected to answer, as provider/model."""
        self.model = model
        self._clock = clock
        self._what = ""
        self._since = clock()
        self._tools: dict[str, str] = {}
        """The tool calls that run, each in a few words."""

    @property
    def line(self) -> str:
        """Such as `waiting for gpt-5, 12 s`."""
        if not self._what:
            return ""
        seconds = int(self._clock() - self._since)
        return f"{self._what}, {seconds} s" if seconds < 120 else f"{self._what}, {seconds // 60} min"

    def wait_for(self, what: str) -> None:
        self._set(f"waiting for {what}")

    def end(self) -> None:
        self._tools.clear()
        self._what = ""

    def show(self, event: Event, *, age_seconds: float = 0) -> None:
        """`age_seconds`: how long ago it happened, if it is seen late."""
        data = event.data
        match event.type:
            case "run.started":
                self._tools.clear()
                self._set(f"waiting for {self._name}", age_seconds)
            case "text.delta":
                self._set(f"{self._name} answers", age_seconds)
            case "thinking.delta":
                self._set(f"{self._name} thinks", age_seconds)
            case "model.retried":
                self._set("waiting for the next model call", age_seconds)
            case "model.waiting":
                self._set(f"waiting: {data.get('why')}", age_seconds)
            case "tool.started":
                words = " ".join(f"{data.get('tool')} {data.get('brief', '')}".split())
                self._tools[str(data.get("call"))] = shorten(words, TOOL_CHARS)
                self._show_tools(age_seconds)
            case "tool.ended":
                self._tools.pop(str(data.get("call")), None)
                self._show_tools(age_seconds)
            case "run.parked":
                self._set(f"waiting for {awaited(event)}", age_seconds)
            case "run.lost" | "run.released":
                self._set("waiting for another worker", age_seconds)

    @property
    def _name(self) -> str:
        return self.model.partition("/")[2] or self.model or "the model"

    def _show_tools(self, age_seconds: float) -> None:
        running = list(self._tools.values())
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        self._set(f"running {running[-1]}{more}" if running else f"waiting for {self._name}", age_seconds)

    def _set(self, what: str, age_seconds: float = 0) -> None:
        # Each piece of text is an event; the time must go on counting.
        if what != self._what:
            self._what = what
            self._since = self._clock() - max(0.0, age_seconds)
