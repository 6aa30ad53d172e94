"""All built-in tools, as an explicit list."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.cron.cron import CronTool
from openclaw_workers.tools.files.apply_patch import ApplyPatch
from openclaw_workers.tools.files.edit import Edit
from openclaw_workers.tools.files.find import Find
from openclaw_workers.tools.files.grep import Grep
from openclaw_workers.tools.files.ls import Ls
from openclaw_workers.tools.files.read import Read
from openclaw_workers.tools.files.write import Write
from openclaw_workers.tools.memory.tools import MemoryGet, MemorySearch, MemoryWrite
from openclaw_workers.tools.messaging.ask_user import AskUser
from openclaw_workers.tools.messaging.message import Message
from openclaw_workers.tools.sessions.agents_list import AgentsList
from openclaw_workers.tools.sessions.list import SessionsHistory, SessionsList, SessionsSearch, SessionStatus
from openclaw_workers.tools.sessions.send import SessionsSend, SessionsYield, Subagents
from openclaw_workers.tools.sessions.spawn import SessionsSpawn
from openclaw_workers.tools.shell.exec import Exec
from openclaw_workers.tools.shell.process import Process
from openclaw_workers.tools.web.web_fetch import WebFetch
from openclaw_workers.tools.web.web_search import WebSearch


@cache
def _by_name() -> dict[str, Tool[Any]]:
    tools: list[Tool[Any]] = [Read(), Write(), Edit(), ApplyPatch(), Grep(), Find(), Ls(), Exec(), Process()]
    tools += [WebSearch(), WebFetch()]
    tools += [SessionsSpawn(), SessionsSend(), SessionsYield(), Subagents()]
    tools += [SessionsList(), SessionsHistory(), SessionsSearch(), SessionStatus(), CronTool()]
    tools += [Message(), AskUser(), AgentsList()]
    tools += [MemorySearch(), MemoryGet(), MemoryWrite()]
    return {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}


def builtin_tools() -> list[Tool[Any]]:
    return list(_by_name().values())


def specs(tools: Iterable[Tool[Any]] | None = None) -> list[ToolSpec]:
    """The given tools, or all, as a model sees them. The order is stable, so that prompts stay cacheable."""
    return [tool.spec for tool in (builtin_tools() if tools is None else tools)]
