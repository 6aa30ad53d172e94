"""What sub-agents do, in one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw_workers.store.reader import Event


_UNHEARD = {
    "none": "nobody was to be told",
    "attached": "told with the result of the one that asked",
    "folded": "told with the result of the one that asked",
    "archived": "the session has begun anew; kept in its archive",
    "nobody": "nobody is left to be told",
}
"""What became of results that the session does not read."""


class Activity:
    """Turns events of sub-agents into lines. What a child is asked to deliver while it works is told line by line."""

    def __init__(self) -> None:
        self._saying: dict[str, tuple[str, str]] = {}
        """Run to its label and the line it has begun."""

    def lines(self, event: Event) -> list[str]:
        """What a person is told of an event; nothing for events that are for programs."""
        data = event.data
        label = str(data.get("label") or data.get("run") or "")
        match event.type:
            case "subagent.delta":
                return self._say(str(data.get("run")), label, str(data.get("text", "")))
            case "subagent.tool":
                return [*self.rest(data.get("run")), *_tool(label, data)]
            case "subagent.announced" | "subagent.discarded":
                return [*(line for each in data["runs"] for line in self.rest(each.get("run"))), _reported(data)]
            case "subagent.spawned" | "subagent.started" as kind:
                host = str(data.get("worker", "")).rpartition("/")[0]
                stage = "spoken to again" if data.get("followUp") else kind.partition(".")[2]
                return [f"sub-agent {stage}: {label}" + (f" on {host}" if host else "")]
            case "subagent.failed":
                why = " ".join(str(data.get("error") or "").split())
                failed = f"sub-agent {data.get('state', 'failed')}: {label}" + (f" – {why}" if why else "")
                return [*self.rest(data.get("run")), failed]
        return []

    def rest(self, run: str | None = None) -> list[str]:
        """Lines that were begun and not ended, of one run or of all."""
        ended = [run] if run is not None else list(self._saying)
        said = [self._saying.pop(each) for each in ended if each in self._saying]
        return [f"{label}: {line}" for label, line in said if line.strip()]

    def _say(self, run: str, label: str, text: str) -> list[str]:
        _, begun = self._saying.get(run, ("", ""))
        *whole, begun = (begun + text).split("\n")
        self._saying[run] = label, begun
        return [f"{label}: {line}" for line in whole if line.strip()]


def _tool(label: str, data: dict[str, Any]) -> list[str]:
    match data.get("phase"):
        case "started":
            return [" ".join(f"{label}: {data.get('tool')} {data.get('brief', '')} ...".split())]
        case "output":
            return [f"{label}:   {str(data.get('line', '')).rstrip()}"]
    return [f"{label}: {data.get('tool')} failed"] if data.get("error") else []


def _reported(data: dict[str, Any]) -> str:
    told = ", ".join(f"{each.get('label') or each.get('run')} {each.get('status') or ''}" for each in data["runs"])
    many = "sub-agents" if len(data["runs"]) > 1 else "sub-agent"
    how = data.get("how") or "archived"
    return f"{many} reported: {told}" if how == "delivered" else f"{many} ended: {told} ({_UNHEARD.get(how, how)})"
