"""A configured agent as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openclaw_workers.config.resolve import AgentConfig


def agent_json(agent: AgentConfig, workspace: Path, *, is_default: bool) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    return {
        "agentId": agent.id,
        "name": agent.name,
        "default": is_default,
        "model": agent.primary,
        "fallbacks": list(agent.fallbacks),
        "thinking": agent.thinking_default,
        "workspace": str(workspace),
    }
