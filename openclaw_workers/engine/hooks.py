"""Hooks for installed plugins: entry points of the group `openclaw_workers.plugins`.

An entry point names an object that may have `subagent_spawned(record)` and `subagent_ended(record)`; each is called
with the run record as a dict. Spawned is called by the worker that spawns; for another run of a child that was spoken
to after it had ended, by the one that takes it. Ended is called by the one that announces, or gives up doing so. Each
once per run, unless that process dies in between. A plugin that fails is logged and changes nothing.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

import structlog

from openclaw_workers.domain.runs import Run
from openclaw_workers.engine.wake import named

log = structlog.get_logger(__name__)

GROUP = "openclaw_workers.plugins"


Hook = Literal["subagent_spawned", "subagent_ended"]


def listens(hook: Hook) -> bool:
    """Whether any plugin wants to hear it; where finding out what to tell costs something."""
    return any(hasattr(plugin, hook) for _, plugin in _plugins())


def fire(hook: Hook, run: Run) -> None:
    for name, plugin in _plugins():
        called = getattr(plugin, hook, None)
        if called is None:
            continue
        try:
            called(run.model_dump(mode="json"))
        except Exception:
            log.exception("hook.failed", plugin=name, hook=hook, **named(run.session_key, run.id))


@cache
def _plugins() -> tuple[tuple[str, Any], ...]:
    found = []
    for entry in entry_points(group=GROUP):
        try:
            found.append((entry.name, entry.load()))
        except Exception:
            log.exception("hook.load_failed", plugin=entry.name)
    return tuple(found)
