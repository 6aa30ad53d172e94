"""Hooks about runs of sub-agents, which get the run record.

The worker that spawns a child fires `subagent_spawned`. If a child gets a message after it had ended, the worker that
takes the new run does. The worker that announces the result, or gives up on it, fires `subagent_ended`. Each is fired
once per run, unless the process dies in between.
"""

from __future__ import annotations

from typing import Literal

from openclaw_workers.domain.runs import Run
from openclaw_workers.hooks import Hooks

RunHook = Literal["subagent_spawned", "subagent_ended"]

_HOOKS = Hooks()
"""What happened cannot be blocked, so no setting matters but the time limit."""


def is_used(hook: RunHook) -> bool:
    """Whether any plugin has this hook; asked where reading the record for it costs something."""
    return _HOOKS.is_used(hook)


def fire(hook: RunHook, run: Run) -> None:
    if _HOOKS.is_used(hook):
        _HOOKS.fire(hook, run.model_dump(mode="json"))
