"""Which models a configuration names."""

from __future__ import annotations

from collections.abc import Iterator

from openclaw_workers.config.models import ModelChoice
from openclaw_workers.config.resolve import agent_ids, resolve_agent, resolve_model
from openclaw_workers.config.settings import Settings


def configured_models(settings: Settings, default_model: str) -> list[str]:
    """The models of agents and their sub-agents, and those that people can choose by name; each as provider/model."""
    names = [*_of_agents(settings, default_model), *settings.agents.defaults.models, *settings.models.aliases.values()]
    return list(dict.fromkeys(names))


def _of_agents(settings: Settings, default_model: str) -> Iterator[str]:
    for agent_id in agent_ids(settings):
        agent = resolve_agent(settings, agent_id, default_model=default_model)
        yield agent.primary
        yield from agent.fallbacks
        spawned = agent.subagents.model or ModelChoice()
        for name in (spawned.primary, *(spawned.fallbacks or ())):
            if name:
                yield resolve_model(settings, name)
