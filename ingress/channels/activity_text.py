"""What a turn is doing, in a few lines: the text of a progress message."""

from __future__ import annotations

from collections import OrderedDict

from openclaw_workers.domain.events import Event
from openclaw_workers.domain.shorten import one_line, shorten

MOST_LINES = 8
BRIEF_CHARS = 80
_MARKS = {"running": "⏳", "ok": "✅", "failed": "❌"}


class ActivityText:
    """Collects the events of a session; `text` is empty as long as there is nothing worth showing."""

    def __init__(self, *, details: bool) -> None:
        """`details`: show what tools are called with, which may be private."""
        self._details = details
        self._lines: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """Name of a tool call or sub-agent -> its state and words."""
        self._hidden = 0
        self.draft = ""
        """The answer as far as it is written."""

    @property
    def children(self) -> int:
        """Sub-agents that are still at work."""
        return sum(name.startswith("run ") and state == "running" for name, (state, _) in self._lines.items())

    def add(self, event: Event) -> None:
        data = event.data
        match event.type:
            case "text.delta":
                self.draft += str(data.get("text", ""))
            case "tool.started":
                self.draft = ""
                brief = data.get("brief", "") if self._details else ""
                self._show(f"call {data.get('call')}", "running", f"{data.get('tool')} {brief}")
            case "tool.ended":
                self._end(f"call {data.get('call')}", "failed" if data.get("error") else "ok")
            case "subagent.spawned" | "subagent.started":
                self._show(f"run {data.get('run')}", "running", str(data.get("label") or "sub-agent"))
            case "subagent.failed":
                self._end(f"run {data.get('run')}", "failed")
            case "subagent.announced" | "subagent.discarded":
                for each in data.get("runs", []):
                    self._end(f"run {each.get('run')}", "ok" if each.get("status") == "ok" else "failed")

    def text(self) -> str:
        lines = [f"{_MARKS[state]} {words}" for state, words in self._lines.values()]
        earlier = [f"… and {self._hidden} before"] if self._hidden else []
        return "\n".join([*earlier, *lines])

    def _show(self, name: str, state: str, words: str) -> None:
        known = self._lines.get(name)
        shown = shorten(one_line(words), BRIEF_CHARS)
        self._lines[name] = (state, known[1] if known else shown)
        while len(self._lines) > MOST_LINES:
            finished = next((each for each, (state, _) in self._lines.items() if state != "running"), None)
            self._lines.pop(finished or next(iter(self._lines)))
            self._hidden += 1

    def _end(self, name: str, state: str) -> None:
        if name in self._lines:
            self._lines[name] = (state, self._lines[name][1])
