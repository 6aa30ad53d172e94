"""What plugins use to take part in turns.

from openclaw_workers.plugins import hook

@hook("before_tool_call", priority=10)
def no_force(event):
    if event["tool"] == "exec" and "--force" in event["arguments"].get("command", ""):
        return {"block": True, "reason": "no --force here"}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from openclaw_workers.hooks import HookName, register

F = TypeVar("F", bound=Callable[[dict[str, Any]], Any])


def hook(name: HookName, *, priority: int = 0) -> Callable[[F], F]:
    """Have the function called at a point of a turn; docs/hooks.md lists them. Higher priorities come first.

    Raises:
        ValueError: there is no such hook.
    """

    def decorate(function: F) -> F:
        register(name, function, priority=priority)
        return function

    return decorate
