"""The system prompt: who the agent is, what it can use, where it works. Stable between turns, so that it caches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openclaw_workers.models.tools import ToolSpec


def system_prompt(*, agent_id: str, agent_name: str, workspace: Path, specs: Sequence[ToolSpec]) -> str:
    tools = "\n".join(f"- {spec.name}: {spec.description.partition('. ')[0].rstrip('.')}" for spec in specs)
    return "\n".join(
        [
            f"You are {agent_name}, a personal assistant.",
            "",
            "## Tooling",
            tools or "You have no tools.",
            "",
            "## Workspace",
            f"Your working directory is {workspace}. Paths are relative to it.",
            "",
            "## Runtime",
            f"agent={agent_id}",
        ]
    )
