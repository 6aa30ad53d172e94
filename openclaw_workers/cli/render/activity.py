"""Events of sub-agents as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw_workers.domain.events import Event


_NOT_DELIVERED = {
    "none": "the parent asked for no announce",
    "attached": "part of the result of the sub-agent that spawned it",
    "folded": "part of the result of the sub-agent that spawned it",
    "archived": "the session was reset; the result is in its archive",
    "nobody": "no session is left to get the result",
}
"""What happened to results that were not delivered to the session."""


class Activity:
    """Turns events of sub-agents into lines. Text that a child streams is shown line by line."""

    def __init__(self) -> None:
        self._unfinished: dict[str, tuple[str, str]] = {}
        """For each run its label and the line it has not finished."""

    def lines(self, event: Event) -> list[str]:
        """The lines for an event; none for events that only programs need."""
        data = event.data
        label = str(data.get("label") or data.get("run") or "")
        match event.type:
            case "subagent.delta":
                return self._stream(str(data.get("run")), label, str(data.get("text", "")))
            case "subagent.tool":
                return [*self.flush(data.get("run")), *_tool(label, data)]
            case "subagent.announced" | "subagent.discarded":
                return [*(line for each in data["runs"] for line in self.flush(each.get("run"))), _reported(data)]
            case "subagent.spawned" | "subagent.started" as kind:
                host = str(data.get("worker", "")).rpartition("/")[0]
                stage = "resumed" if data.get("followUp") else kind.partition(".")[2]
                return [f"sub-agent {stage}: {label}" + (f" on {host}" if host else "")]
            case "subagent.failed":
                why = " ".join(str(data.get("error") or "").split())
                failed = f"sub-agent {data.get('state', 'failed')}: {label}" + (f" – {why}" if why else "")
                return [*self.flush(data.get("run")), failed]
        return []

    def flush(self, run: str | None = None) -> list[str]:
        """The unfinished lines of one run, or of all."""
        runs = [run] if run is not None else list(self._unfinished)
        found = [self._unfinished.pop(each) for each in runs if each in self._unfinished]
        return [f"{label}: {line}" for label, line in found if line.strip()]

    def _stream(self, run: str, label: str, text: str) -> list[str]:
        _, rest = self._unfinished.get(run, ("", ""))
        *whole, rest = (rest + text).split("\n")
        # Several sub-agents write at the same time; half lines of theirs would be mixed up.
        self._unfinished[run] = label, rest
        return [f"{label}: {line}" for line in whole if line.strip()]


def _tool(label: str, data: dict[str, Any]) -> list[str]:
    match data.get("phase"):
        case "started":
            return [" ".join(f"{label}: {data.get('tool')} {data.get('brief', '')} ...".split())]
        case "output":
            return [f"{label}:   {str(data.get('line', '')).rstrip()}"]
    return [f"{label}: {data.get('tool')} failed"] if data.get("error") else []


def _reported(data: dict[str, Any]) -> str:
    names = ", ".join(f"{each.get('label') or each.get('run')} {each.get('status') or ''}" for each in data["runs"])
    many = "sub-agents" if len(data["runs"]) > 1 else "sub-agent"
    how = data.get("how") or "archived"
    return (
        f"{many} reported: {names}" if how == "delivered" else f"{many} ended: {names} ({_NOT_DELIVERED.get(how, how)})"
    )


def awaited(parked: Event) -> str:
    """What a parked run waits for."""
    return "a person" if str(parked.data.get("waits_for", "")).startswith("q-") else "other sessions"
