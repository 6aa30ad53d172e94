"""A workspace for each test, and a short way to call a tool in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import ContentBlock
from openclaw_workers.tools.base import ToolAnswer, ToolContext
from openclaw_workers.tools.registry import builtin_tools

Call = Callable[..., str]
CallForBlocks = Callable[..., list[ContentBlock]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    return place


@pytest.fixture
def cancel() -> Cancel:
    return Cancel()


@pytest.fixture
def shown() -> list[str]:
    """Lines a tool showed while it ran."""
    return []


@pytest.fixture
def context(workspace: Path, cancel: Cancel, shown: list[str]) -> ToolContext:
    return ToolContext(
        workspace=workspace,
        call_id="call_1",
        agent_id="main",
        session_key="agent:main:main",
        cancel=cancel,
        timeout_seconds=30,
        progress=shown.append,
    )


@pytest.fixture
def call(context: ToolContext) -> Call:
    def run(tool_name: str, /, **arguments: Any) -> str:
        answer = answer_of(tool_name, arguments, context)
        assert isinstance(answer, str)
        return answer

    return run


@pytest.fixture
def call_for_blocks(context: ToolContext) -> Callable[..., list[ContentBlock]]:
    """The same for tools that return content blocks."""

    def run(tool_name: str, /, **arguments: Any) -> list[ContentBlock]:
        answer = answer_of(tool_name, arguments, context)
        assert isinstance(answer, list)
        return answer

    return run


def answer_of(tool_name: str, arguments: dict[str, Any], context: ToolContext) -> ToolAnswer:
    tool = next(each for each in builtin_tools() if each.name == tool_name)
    return tool.run(tool.parse(arguments), context)
