"""MiniClaw's and older names of tools. They work in calls, with their arguments mapped, and in policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from openclaw_workers.domain.tool_spec import RAW_ARGUMENTS


@dataclass(frozen=True, slots=True)
class Alias:
    tool: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Names of arguments, and what the tool calls them."""
    implied: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the alias stands for."""


_PATH: Final = dict.fromkeys(("file_path", "filename", "file", "filepath"), "path")
_COMMAND: Final = {
    "cmd": "command",
    "cwd": "workdir",
    "timeout": "timeout_seconds",
    "timeoutSeconds": "timeout_seconds",
}
_JOB: Final = dict.fromkeys(("session_id", "shell_id", "shellId", "job_id", "jobId", "job", "id"), "sessionId")

ALIASES: Final[Mapping[str, Alias]] = {
    "read_file": Alias("read", _PATH | {"line": "offset", "start_line": "offset", "lines": "limit"}),
    "write_file": Alias("write", _PATH | {"text": "content", "data": "content"}),
    "shell": Alias("exec", _COMMAND),
    "bash": Alias("exec", _COMMAND),
    "shell_start": Alias("exec", _COMMAND, {"background": True}),
    "shell_status": Alias("process", _JOB, {"action": "poll"}),
    "shell_kill": Alias("process", _JOB, {"action": "kill"}),
    "http_get": Alias("web_fetch", {"uri": "url", "href": "url", "max_chars": "maxChars"}),
    "apply-patch": Alias("apply_patch", {"patch": "input"}),
    **{f"subagent.{action}": Alias("subagents", {}, {"action": action}) for action in ("list", "stop", "send")},
}


def canonical(name: str) -> str:
    """Resolve an alias to the tool's name; unknown names are returned unchanged."""
    alias = ALIASES.get(name)
    return alias.tool if alias else name


def arguments(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by an alias, as its tool names them. An argument under its own name wins."""
    alias = ALIASES.get(name)
    if alias is None or RAW_ARGUMENTS in given:
        return given
    renamed = {alias.renamed[key]: value for key, value in given.items() if key in alias.renamed}
    # What the alias stands for comes last: `shell_kill` must not become a poll.
    return {**renamed, **{key: value for key, value in given.items() if key not in alias.renamed}, **alias.implied}
