"""Hooks for installed plugins: entry points of the group `openclaw_workers.plugins`.

An entry point names an object that may have `subagent_spawned(record)` and `subagent_ended(record)`; each is called
with the run record as a dict. The worker that spawns a child calls `subagent_spawned`. If a child gets a message after
it had ended, the worker that takes the new run does. The worker that announces the result, or gives up on it, calls
`subagent_ended`. Each is called once per run, unless the process dies in between. A failing plugin is only logged.
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


def is_used(hook: Hook) -> bool:
    """Whether any plugin has this hook; asked where reading the record for it costs something."""
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
