"""Hooks: functions of plugins that are called at fixed points of a turn, and may change or block what comes next.

A function is registered with `openclaw_workers.hook` when its plugin is imported (`plugin_imports.py`), or is a method
with the hook's name of an object that is a plugin. Each is called with one event, a dict. Higher priorities come first;
equal ones in the order of registration.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import structlog

log = structlog.get_logger(__name__)

HookName = Literal[
    "before_tool_call",
    "after_tool_call",
    "message_received",
    "message_sending",
    "session_start",
    "session_end",
    "before_compaction",
    "after_compaction",
    "agent_end",
    "subagent_spawned",
    "subagent_ended",
]
HOOKS: Final[tuple[HookName, ...]] = get_args(HookName)
Event = dict[str, Any]
Failure = Literal["block", "pass"]


@dataclass(frozen=True, slots=True)
class Hook:
    name: HookName
    function: Callable[[Event], Any]
    priority: int = 0
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the hooks before something say: the event as they changed it, and why it must not happen, if so."""

    event: Event
    blocked: str = ""


class _Registry:
    def __init__(self) -> None:
        self._hooks: list[Hook] = []
        self._lock = threading.Lock()
        self._sorted: dict[HookName, tuple[Hook, ...]] = {}

    def add(self, hook: Hook) -> None:
        with self._lock:
            if hook not in self._hooks:  # a plugin may be imported for its tools and for its hooks
                self._hooks.append(hook)
            self._sorted = {}

    def of(self, name: HookName) -> tuple[Hook, ...]:
        found = self._sorted.get(name)
        if found is None:
            with self._lock:
                wanted = [each for each in self._hooks if each.name == name]
                found = self._sorted[name] = tuple(sorted(wanted, key=lambda each: -each.priority))
        return found


_registry = _Registry()


def register(name: HookName, function: Callable[[Event], Any], *, priority: int = 0, plugin: str = "") -> None:
    """Add a function; a plugin does so when it is imported.

    Raises:
        ValueError: there is no such hook.
    """
    if name not in HOOKS:
        raise ValueError(f"there is no hook {name!r}; there are {', '.join(HOOKS)}")
    _registry.add(Hook(name, function, priority, plugin or getattr(function, "__module__", "")))


def register_methods(plugin: Any, name: str) -> None:
    """Add the methods of an object that are called like hooks. A module registers its functions itself."""
    if inspect.ismodule(plugin):
        return
    for hook in HOOKS:
        if callable(function := getattr(plugin, hook, None)):
            register(hook, function, plugin=name)


class Hooks:
    """Calls hooks, with a time limit for each."""

    def __init__(self, *, seconds: float = 5.0, failure: Failure = "block") -> None:
        """`failure`: what a hook that fails, or takes too long, does to what it comes before."""
        self._seconds = seconds
        self._failure = failure

    def is_used(self, name: HookName) -> bool:
        """Whether anybody listens; asked where making the event costs something."""
        return bool(_registry.of(name))

    def fire(self, name: HookName, event: Mapping[str, Any]) -> None:
        """Tell all who listen. What they return does not matter, and a failure is only logged."""
        for hook in _registry.of(name):
            self._call(hook, dict(event))

    def ask(self, name: HookName, event: Mapping[str, Any]) -> Verdict:
        """Ask all who listen, one after the other; each sees the changes of those before it.

        A hook may return {"block": True, "reason": ...}, or fields of the event to change; mappings are merged.
        """
        current = dict(event)
        for hook in _registry.of(name):
            answer, error = self._call(hook, current)
            if error and self._failure == "block":
                return Verdict(current, f"the hook {name} of {hook.plugin} {error}")
            if not isinstance(answer, dict):
                continue
            if answer.get("block") or answer.get("cancel"):
                return Verdict(current, str(answer.get("reason") or f"a plugin ({hook.plugin}) blocked it"))
            current |= {key: _merged(current[key], value) for key, value in answer.items() if key in current}
        return Verdict(current)

    def _call(self, hook: Hook, event: Event) -> tuple[Any, str]:
        """What a hook returns, and how it failed, if it did. It runs in a thread, which it may block."""
        outcome: list[Any] = []
        given = deepcopy(event)

        def work() -> None:
            try:
                answer = hook.function(given)
                outcome.append(asyncio.run(answer) if inspect.iscoroutine(answer) else answer)
            except BaseException as error:  # noqa: BLE001 - somebody else's code; also SystemExit
                outcome.append(error)

        thread = threading.Thread(target=work, name=f"ocw-hook-{hook.name}", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if not outcome:
            log.error("hook.too_slow", plugin=hook.plugin, hook=hook.name, seconds=self._seconds)
            return None, f"did not end within {self._seconds:g} s"
        if isinstance(outcome[0], BaseException):
            log.error("hook.failed", plugin=hook.plugin, hook=hook.name, exc_info=outcome[0])
            return None, f"failed ({type(outcome[0]).__name__})"
        return outcome[0], ""


def _merged(old: Any, new: Any) -> Any:
    return {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new
