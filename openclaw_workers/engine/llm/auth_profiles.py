"""Whose key a call is made with: an agent's own first, then those that all agents share.

An agent's own keys are in `auth-profiles.json`, in its `authDir` or in `agents/<id>/` of the state directory:

    {"profiles": {"work": {"provider": "anthropic", "apiKey": "..."}}, "order": {"anthropic": ["work"]}}

A profile may have `limits`, as those of a provider's `authProfiles` do.

Those in `order` are used in that order, then the others in turn. They serve that agent alone: their ids carry its name,
so that nothing the fleet notes about them touches another's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from openclaw_workers.config.budgets import LimitSettings
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.errors import BadInput
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.remote import RemoteProvider, endpoint

FILE = "auth-profiles.json"


class _Profile(BaseModel):
    model_config = ConfigDict(extra="ignore")

    provider: str
    api_key: SecretStr = Field(validation_alias=AliasChoices("apiKey", "api_key", "key", "token"))
    limits: LimitSettings = LimitSettings()


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore")

    profiles: dict[str, _Profile] = Field(default_factory=dict)
    order: dict[str, list[str]] = Field(default_factory=dict)


def endpoints_for(
    agent: AgentConfig, provider: Provider, given: ProviderSettings, state_dir: Path
) -> list[list[Endpoint | None]]:
    """The keys in groups, in the order of their use; a provider that needs none has one place for none.

    Raises:
        BadInput: the agent's file cannot be read.
    """
    if not isinstance(provider, RemoteProvider):
        return [[None]]
    shared = _grouped(provider.endpoints, given.auth_order)
    return [*_own(agent, provider.name, given, state_dir), *shared] or [[None]]


def _grouped(endpoints: Sequence[Endpoint], order: Sequence[str]) -> list[list[Endpoint | None]]:
    """Each key that has a place in the order by itself, then all the others."""
    known = {each.profile_id: each for each in endpoints}
    first: list[list[Endpoint | None]] = [[known.pop(name)] for name in dict.fromkeys(order) if name in known]
    return [*first, [*known.values()]] if known else first


def _own(agent: AgentConfig, provider: str, given: ProviderSettings, state_dir: Path) -> list[list[Endpoint | None]]:
    path = (agent.auth_dir or state_dir / "agents" / agent.id) / FILE
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return []
    file = _read(path, changed)
    mine = {name: profile for name, profile in file.profiles.items() if profile.provider == provider}
    endpoints = [
        endpoint(provider, given, f"{agent.id}:{name}", profile.api_key, profile.limits)
        for name, profile in mine.items()
    ]
    return _grouped(endpoints, [f"{agent.id}:{name}" for name in file.order.get(provider, [])])


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> _File:
    try:
        return _File.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        # A validation error would quote the keys.
        problem = f"{len(error.errors())} wrong fields" if isinstance(error, ValidationError) else type(error).__name__
        raise BadInput(
            f"{path} cannot be read: {problem}", hint='expected {"profiles": {id: {provider, apiKey}}}'
        ) from None
