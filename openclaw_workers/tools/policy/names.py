"""The names that a policy may use: tools, their aliases, patterns, groups and profiles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.tools.aliases import ALIASES, canonical
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.mcp.names import SEPARATOR

PREFIX: Final = "group:"

_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "fs": ("read", "write", "edit", "apply_patch", "grep", "find", "ls"),
    "runtime": ("exec", "process"),
    "web": ("web_search", "web_fetch"),
    "memory": ("memory_search", "memory_get", "memory_write"),
    "sessions": (
        *("sessions_list", "sessions_history", "sessions_search", "sessions_send", "sessions_spawn"),
        *("sessions_yield", "subagents", "session_status"),
    ),
    "ui": ("browser", "canvas"),
    "messaging": ("message", "ask_user"),
    "automation": ("cron", "gateway"),
    "nodes": ("nodes",),
    "agents": ("agents_list",),
    "media": ("image", "tts"),
}
_OF_OTHERS: Final = ("plugins", "mcp")
_OUTSIDE_OPENCLAW: Final = ("fs", "runtime")

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    **_GROUPS,
    "openclaw": tuple(name for group, names in _GROUPS.items() if group not in _OUTSIDE_OPENCLAW for name in names),
}
"""The groups of built-in tools, by their names after `group:`. Plugins and MCP servers add groups of their own."""

PROFILES: Final[Mapping[str, tuple[str, ...]]] = {
    "minimal": ("read", "write", "edit", "grep", "find", "ls"),
    "coding": (
        *("read", "write", "edit", "apply_patch", "grep", "find", "ls"),
        *("exec", "process", "web_search", "web_fetch"),
    ),
    "messaging": ("read", "write", "message", "sessions_list", "sessions_send", "cron", "web_search"),
    "full": ("*",),
}


@dataclass(frozen=True)
class Catalogue:
    """The tools that a process has, and all groups of them."""

    tools: tuple[str, ...]
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    owner_only: frozenset[str] = frozenset()
    """Tools that say of themselves that only owners may have them."""
    not_listed: frozenset[str] = frozenset()
    """MCP servers of which this process has no tools now."""

    @cached_property
    def known(self) -> frozenset[str]:
        """Everything that a list may name without a warning, in lower case."""
        groups = {f"{PREFIX}{name}".lower() for name in self.groups}
        return self._names | set(ALIASES) | groups | {name.lower() for name in self.groups.keys() - GROUPS.keys()}

    def warning(self, entry: str) -> str:
        """What to tell about a name that fits nothing; empty if it fits something."""
        name = entry.strip().lower()
        if name in self.known or name.partition(SEPARATOR)[0] in self.not_listed:
            return ""
        if "*" in name and any(_pattern(name).fullmatch(each) for each in self.known):
            return ""
        what = "group" if name.startswith(PREFIX) else "tool"
        return "; ".join(filter(None, (f"no {what} is called {entry!r}", did_you_mean(name, sorted(self.known)))))

    def matches(self, entries: Sequence[str], tool: str) -> bool:
        """Whether a list names a tool: by name, alias, pattern or group."""
        name = tool.lower()
        return any(self._matches(entry, name) for entry in entries)

    def _matches(self, entry: str, tool: str) -> bool:
        wanted = canonical(entry.strip().lower())
        if wanted == tool:
            return True
        group = self._members.get(wanted)
        if group is not None:
            return tool in group
        return "*" in wanted and tool in self._fitting(wanted)

    def _fitting(self, pattern: str) -> frozenset[str]:
        """The tools that a pattern fits. One that fits no tool's own name is taken for a pattern of aliases."""
        fits = _pattern(pattern).fullmatch
        if own := frozenset(filter(fits, self._names)):
            return own
        return frozenset(alias.tool for name, alias in ALIASES.items() if fits(name))

    @cached_property
    def _names(self) -> frozenset[str]:
        """All tools in lower case, also built-in ones that this process does not have."""
        return frozenset(map(str.lower, self.tools)).union(*GROUPS.values())

    @cached_property
    def _members(self) -> dict[str, frozenset[str]]:
        """Groups by each way to write them. A plugin or server may be named without the prefix."""
        lowered = {name.lower(): frozenset(map(str.lower, names)) for name, names in self.groups.items()}
        bare = {name: names for name, names in lowered.items() if name not in GROUPS and name not in self.tools}
        return {**bare, **{f"{PREFIX}{name}": names for name, names in lowered.items()}}


def catalogue_of(tools: Iterable[Tool[Any]], servers: Iterable[str] = ()) -> Catalogue:
    """The catalogue of these tools. A tool's own groups are those of its plugin or MCP server.

    `servers`: the MCP servers of the configuration. One of them that is down still has its name.
    """
    listed = list(tools)
    groups: dict[str, set[str]] = {name: set(names) for name, names in GROUPS.items()}
    groups |= {name: set() for name in (*_OF_OTHERS, *servers)}
    for tool in listed:
        for group in tool.groups:
            groups.setdefault(group, set()).add(tool.name)
    return Catalogue(
        tuple(tool.name for tool in listed),
        {name: frozenset(names) for name, names in groups.items()},
        frozenset(tool.name for tool in listed if tool.owner_only),
        frozenset(server for server in servers if not groups[server]),
    )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))))
