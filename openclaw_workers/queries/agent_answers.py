"""The configured agents as a JSON answer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw_workers.config.resolve import (
    AgentConfig,
    agent_ids,
    default_agent_id,
    default_model,
    resolve_agent,
    workspace_dir,
)
from openclaw_workers.views.agents import agent_json

if TYPE_CHECKING:
    from openclaw_workers.config.loader import Loaded


def configured_agents(loaded: Loaded) -> list[tuple[AgentConfig, Path]]:
    """Each agent with its workspace."""
    settings = loaded.settings
    # The default depends on which keys are in the environment.
    model = default_model(settings, os.environ)
    found = [resolve_agent(settings, each, default_model=model) for each in agent_ids(settings)]
    return [(agent, workspace_dir(settings, agent.id, loaded.state_dir)) for agent in found]


def agents_answer(loaded: Loaded) -> dict[str, Any]:
    default = default_agent_id(loaded.settings)
    listed = [
        agent_json(agent, workspace, is_default=agent.id == default) for agent, workspace in configured_agents(loaded)
    ]
    return {"ok": True, "agents": listed}
