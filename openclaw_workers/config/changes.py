"""What differs between two configurations, and which differences wait for a restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.config.schema_tree import Loc, aliases, dotted
from openclaw_workers.config.settings import Settings

RESTART_KEYS = (
    "engine.graceSeconds",
    "engine.leaseSeconds",
    "engine.sweepSeconds",
    "engine.acceptTimeoutSeconds",
    "engine.taskEvents",
    "lanes.main.concurrency",
    "lanes.subagent.concurrency",
    "lanes.subagent.niceness",
    "lanes.service.concurrency",
    "gateway.bind",
    "gateway.port",
)
"""Settings that a process reads once, when it starts. The namespace is the host's own and never published."""

RESTART_SECTIONS = ("mcp", "plugins")
"""Sections that name programs and modules, which a process loads when it starts."""

_KEPT = ("grace_seconds", "lease_seconds", "sweep_seconds", "accept_timeout_seconds", "task_events")


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting before and after; None where it is not given. Secrets appear as references only."""

    path: str
    before: Any
    after: Any

    @property
    def needs_restart(self) -> bool:
        return self.path in RESTART_KEYS or self.path.split(".")[0] in RESTART_SECTIONS


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[SettingChange]:
    """The settings that differ, in order of their paths."""
    old, new = dict(_flat(before)), dict(_flat(after))
    paths = sorted(old.keys() | new.keys(), key=dotted)
    return [SettingChange(dotted(loc), old.get(loc), new.get(loc)) for loc in paths if old.get(loc) != new.get(loc)]


def _flat(value: Any, loc: Loc = ()) -> Iterator[tuple[Loc, Any]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _flat(each, (*loc, str(key)))
    # A list of plain values is one setting, such as a list of tools.
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for at, each in enumerate(value):
            yield from _flat(each, (*loc, at))
    elif loc:
        yield loc, value


def restart_pending(started: Settings, current: Settings) -> list[str]:
    """Settings that this process will use only after a restart."""
    return [path for path in (*RESTART_KEYS, *RESTART_SECTIONS) if _at(started, path) != _at(current, path)]


def as_started(current: Settings, started: Settings) -> Settings:
    """The current settings, with those that need a restart as they were when this process started."""
    kept = {name: getattr(started.engine, name) for name in _KEPT}
    sections = {name: getattr(started, name) for name in RESTART_SECTIONS}
    return current.model_copy(update={**sections, "engine": current.engine.model_copy(update=kept)})


def _at(settings: Settings, path: str) -> Any:
    value: Any = settings
    for key in path.split("."):
        value = getattr(value, aliases(type(value))[key])
    return value
