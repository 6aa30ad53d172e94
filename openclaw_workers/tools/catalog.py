"""All tools of this process: the built-in ones, those of plugins and those of MCP servers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

from openclaw_workers.tools.aliases import ALIASES
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.plugins.load import NO_PLUGINS, Plugins
from openclaw_workers.tools.registry import builtin_tools

ToolSet = tuple[Tool[Any], ...]


class ToolServers(Protocol):
    """Where tools come and go while the process runs."""

    def tools(self) -> ToolSet:
        """Those there are now; the same tuple until something changes."""


class ToolCatalog:
    def __init__(self, plugins: Plugins = NO_PLUGINS, servers: ToolServers | None = None) -> None:
        self._own = (*builtin_tools(), *plugins.tools)
        self._servers = servers
        self._joined = lru_cache(maxsize=1)(self._join)

    def tools(self) -> ToolSet:
        """Every tool there is now, in a stable order, so that prompts stay cacheable."""
        return self._joined(self._servers.tools() if self._servers else ())

    def _join(self, served: ToolSet) -> ToolSet:
        names = {tool.name for tool in self._own}
        # A server must not replace a built-in tool by one of the same name.
        both = [*self._own, *(tool for tool in served if tool.name not in names)]
        return tuple(sorted(both, key=lambda tool: tool.name))


def reserved_names() -> frozenset[str]:
    """Names that no tool of a plugin may have."""
    return frozenset({*ALIASES, *(tool.name for tool in builtin_tools())})
