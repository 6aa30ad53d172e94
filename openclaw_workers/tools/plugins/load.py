"""The plugins of a worker, with their tools."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from inspect import getattr_static
from types import ModuleType
from typing import Any

import structlog

from openclaw_workers.config.plugins import PluginsSettings
from openclaw_workers.plugin_imports import ImportedPlugin, import_plugins
from openclaw_workers.tools.base import ToolSource
from openclaw_workers.tools.plugins.function_runner import FunctionRunner
from openclaw_workers.tools.plugins.function_tool import FunctionTool
from openclaw_workers.tools.plugins.plugin_tool import PluginLimits, PluginTool

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Plugin:
    imported: ImportedPlugin
    tools: tuple[PluginTool, ...] = ()
    left_out: tuple[str, ...] = ()
    """Why some of its tools are missing."""

    @property
    def problems(self) -> list[str]:
        return [*([self.imported.problem] if self.imported.problem else []), *self.left_out]


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
                "plugin": plugin.imported.name,
                "origin": plugin.imported.origin,
                "state": plugin.imported.state,
                "tools": [tool.name for tool in plugin.tools],
                "problems": plugin.problems,
            }
            for plugin in self.all
        ]


NO_PLUGINS = Plugins()


def load_plugins(settings: PluginsSettings, reserved: Collection[str]) -> Plugins:
    """Import every plugin that is installed or configured. `reserved`: names that no tool of a plugin may have."""
    limits = PluginLimits(settings.timeout_seconds, settings.max_output)
    runner, taken, plugins = FunctionRunner(), set(reserved), []
    for imported in import_plugins(settings):
        plugin = _with_tools(imported, limits, runner, taken)
        taken |= {tool.name for tool in plugin.tools}
        plugins.append(plugin)
        for problem in plugin.left_out:
            log.error("plugin.problem", plugin=imported.name, origin=imported.origin, problem=problem)
    return Plugins(tuple(plugins))


def plugin_of(name: str, loaded: Any, limits: PluginLimits, reserved: Collection[str] = ()) -> Plugin:
    """The plugin that an imported module or object is."""
    return _with_tools(ImportedPlugin(name, "", "loaded", loaded=loaded), limits, FunctionRunner(), reserved)


def _with_tools(
    imported: ImportedPlugin, limits: PluginLimits, runner: FunctionRunner, taken: Collection[str]
) -> Plugin:
    tools: dict[str, PluginTool] = {}
    left_out = []
    for function in _functions(imported.loaded):
        name = function.options.name
        if name in taken or name in tools:
            left_out.append(f"its tool {name} is left out: another tool has this name; rename it with @tool(name=...)")
        else:
            tools[name] = PluginTool(function, ToolSource("plugin", imported.name), limits, runner)
    return Plugin(imported, tuple(tools.values()), tuple(left_out))


def _functions(loaded: Any) -> list[FunctionTool[..., Any]]:
    """The tools of a module, of a list, or of any other object; the object may itself be one."""
    if isinstance(loaded, FunctionTool):
        return [loaded]
    if isinstance(loaded, ModuleType):
        members: Collection[Any] = vars(loaded).values()
    elif isinstance(loaded, list | tuple):
        members = loaded
    else:
        # Statically, because reading an attribute could run a property of the plugin.
        members = [getattr_static(loaded, name) for name in dir(loaded)]
    # By identity: a module often has the same tool under two names.
    return list({id(member): member for member in members if isinstance(member, FunctionTool)}.values())
