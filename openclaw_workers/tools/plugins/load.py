"""Finds and imports plugins. One that cannot be imported is reported with the reason; the others are loaded."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Literal

import structlog

from openclaw_workers.config.plugins import PluginsSettings
from openclaw_workers.tools.base import ToolSource
from openclaw_workers.tools.plugins.function_runner import FunctionRunner
from openclaw_workers.tools.plugins.function_tool import FunctionTool
from openclaw_workers.tools.plugins.plugin_tool import PluginLimits, PluginTool

log = structlog.get_logger(__name__)

GROUP = "openclaw_workers.plugins"
IMPORT_SECONDS = 30.0
"""A plugin that takes longer to import is left out, so that the worker starts."""
_REASON_CHARS = 500

State = Literal["loaded", "failed", "denied"]


@dataclass(frozen=True, slots=True)
class Plugin:
    name: str
    origin: str
    """The package and version that announces it, or the module of the configuration."""
    state: State
    tools: tuple[PluginTool, ...] = ()
    problems: tuple[str, ...] = ()
    """Why it, or one of its tools, could not be loaded."""
    loaded: Any = None
    """The module or object that was imported."""


@dataclass(frozen=True, slots=True)
class Plugins:
    all: tuple[Plugin, ...] = ()

    @property
    def tools(self) -> list[PluginTool]:
        return [tool for plugin in self.all for tool in plugin.tools]

    def report(self) -> list[dict[str, Any]]:
        """What `ocw plugins` shows of this process."""
        return [
            {
                "plugin": plugin.name,
                "origin": plugin.origin,
                "state": plugin.state,
                "tools": [tool.name for tool in plugin.tools],
                "problems": list(plugin.problems),
            }
            for plugin in self.all
        ]


NO_PLUGINS = Plugins()


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    origin: str
    load: Callable[[], Any]


def load_plugins(settings: PluginsSettings, reserved: Collection[str]) -> Plugins:
    """Import every plugin that is installed or configured. `reserved`: names that no tool of a plugin may have."""
    if not settings.enabled:
        return NO_PLUGINS
    sys.path += [path for path in map(str, settings.paths) if path not in sys.path]
    limits = PluginLimits(settings.timeout_seconds, settings.max_output)
    runner, taken, plugins = FunctionRunner(), set(reserved), []
    for found in _find(settings):
        if found.name in settings.deny:
            plugins.append(Plugin(found.name, found.origin, "denied"))
            continue
        plugin = _load(found, limits, runner, taken)
        taken |= {tool.name for tool in plugin.tools}
        plugins.append(plugin)
        for problem in plugin.problems:
            log.error("plugin.problem", plugin=plugin.name, origin=plugin.origin, problem=problem)
    return Plugins(tuple(plugins))


def plugin_of(name: str, loaded: Any, limits: PluginLimits, reserved: Collection[str] = ()) -> Plugin:
    """The plugin that an imported module or object is."""
    return _with_tools(Plugin(name, "", "loaded", loaded=loaded), limits, FunctionRunner(), reserved)


def _find(settings: PluginsSettings) -> Iterator[_Found]:
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        yield _Found(entry.name, _origin(entry), entry.load)
    for module in dict.fromkeys(settings.modules):
        yield _Found(module, f"module {module}", lambda module=module: import_module(module))  # type: ignore[misc]


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def _load(found: _Found, limits: PluginLimits, runner: FunctionRunner, taken: Collection[str]) -> Plugin:
    """Import it in a thread, because the import of somebody else's code may hang or end the process."""
    outcome: list[Plugin] = []

    def work() -> None:
        try:
            loaded = Plugin(found.name, found.origin, "loaded", loaded=found.load())
            outcome.append(_with_tools(loaded, limits, runner, taken))
        except BaseException as error:  # noqa: BLE001 - reported; also SystemExit
            reason = f"{type(error).__name__}: {error}"[:_REASON_CHARS]
            outcome.append(Plugin(found.name, found.origin, "failed", problems=(reason,)))

    thread = threading.Thread(target=work, name=f"ocw-import-{found.name}", daemon=True)
    thread.start()
    thread.join(IMPORT_SECONDS)
    late = f"it was not imported within {IMPORT_SECONDS:g} seconds"
    return outcome[0] if outcome else Plugin(found.name, found.origin, "failed", problems=(late,))


def _with_tools(plugin: Plugin, limits: PluginLimits, runner: FunctionRunner, taken: Collection[str]) -> Plugin:
    tools: dict[str, PluginTool] = {}
    problems = []
    for function in _functions(plugin.loaded):
        name = function.options.name
        if name in taken or name in tools:
            problems.append(f"its tool {name} is left out: another tool has this name; rename it with @tool(name=...)")
        else:
            tools[name] = PluginTool(function, ToolSource("plugin", plugin.name), limits, runner)
    return replace(plugin, tools=tuple(tools.values()), problems=tuple(problems))


def _functions(loaded: Any) -> list[FunctionTool[..., Any]]:
    """The tools of a module, of a list, or of any other object; the object may itself be one."""
    if isinstance(loaded, FunctionTool):
        return [loaded]
    if isinstance(loaded, ModuleType):
        members: Collection[Any] = vars(loaded).values()
    elif isinstance(loaded, list | tuple):
        members = loaded
    else:
        members = [getattr(loaded, name) for name in dir(loaded) if not name.startswith("__")]
    return list(dict.fromkeys(member for member in members if isinstance(member, FunctionTool)))
