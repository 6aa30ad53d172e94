"""Which models a configuration names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from openclaw_workers.config.model_catalog import Catalog
from openclaw_workers.config.models import ModelChoice
from openclaw_workers.config.resolve import agent_ids, resolve_agent, resolve_model
from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import ProviderError


def configured_models(settings: Settings, default_model: str) -> list[str]:
    """The models of agents and their sub-agents, and those that people can choose by name; each as provider/model."""
    names = [*_of_agents(settings, default_model), *settings.agents.defaults.models, *settings.models.aliases.values()]
    return list(dict.fromkeys(names))


def configured_apis(settings: Settings, default_model: str) -> tuple[str, ...]:
    """The APIs that these models are called by. The built-in model and programs have none."""
    catalog = Catalog(settings.models)
    found: dict[str, None] = {}
    for name in configured_models(settings, default_model):
        provider, _, model = name.partition("/")
        if provider in catalog.providers():
            with suppress(ProviderError):  # a name that leads nowhere; the turn that uses it says so
                found[catalog.model(provider, model).api] = None
    return tuple(found)


def _of_agents(settings: Settings, default_model: str) -> Iterator[str]:
    for agent_id in agent_ids(settings):
        agent = resolve_agent(settings, agent_id, default_model=default_model)
        yield agent.primary
        yield from agent.fallbacks
        spawned = agent.subagents.model or ModelChoice()
        for name in (spawned.primary, *(spawned.fallbacks or ())):
            if name:
                yield resolve_model(settings, name)
