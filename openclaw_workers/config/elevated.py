"""Who may let commands of a sandboxed session run on the host: what all settings together allow."""

from __future__ import annotations

from openclaw_workers.config.resolve import configured_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.tools import AgentElevatedSettings


def is_elevated_enabled(settings: Settings, agent_id: str) -> bool:
    """Whether `/elevated` has an effect for an agent. An agent's own block can only take away."""
    return all(layer.enabled for layer in (settings.tools.elevated, *_of_agent(settings, agent_id)))


def may_elevate(settings: Settings, agent_id: str, channel: str, caller: str) -> bool:
    """Whether somebody is named wherever owners are named; `tools.elevated` must name them."""
    own = [layer for layer in _of_agent(settings, agent_id) if layer.allow_from]
    return all(_names(layer, channel, caller) for layer in (settings.tools.elevated, *own))


def _of_agent(settings: Settings, agent_id: str) -> list[AgentElevatedSettings]:
    """Of all agents, and of this one. They add up, so that a block of one agent lifts nothing."""
    entry = configured_agent(settings, agent_id)
    return [settings.agents.defaults.tools.elevated, *([entry.tools.elevated] if entry else [])]


def _names(layer: AgentElevatedSettings, channel: str, caller: str) -> bool:
    listed = layer.allow_from.get(channel, ())
    return "*" in listed or bool(caller and caller in listed)
