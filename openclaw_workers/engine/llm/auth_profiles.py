"""Whose key a call is made with: an agent's own first, then those that all agents share.

An agent's own keys are in `auth-profiles.json`, in its `authDir`, or in `agents/<id>/` or `agents/<id>/agent/` of the
state directory; the first of those that exists counts:

    {"profiles": {"work": {"provider": "anthropic", "apiKey": "..."}}, "order": {"anthropic": ["work"]}}

A profile may have `limits`, as those of a provider's `authProfiles` do. One of a kind that has no key, such as `oauth`,
is left out, and the log names it.

Those in `order` are used in that order, then the others in turn. They serve that agent alone: their ids carry its name,
so that nothing the fleet notes about them touches another's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from openclaw_workers.config.budgets import LimitSettings
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.errors import BadInput
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.remote import RemoteProvider, endpoint

log = structlog.get_logger(__name__)

FILE = "auth-profiles.json"


class _Profile(BaseModel):
    model_config = ConfigDict(extra="ignore")

    provider: str
    api_key: SecretStr = Field(validation_alias=AliasChoices("apiKey", "api_key", "key", "token"))
    limits: LimitSettings = LimitSettings()


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore")

    profiles: dict[str, dict[str, Any]] = Field(default_factory=dict)
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
    found = next(filter(None, map(_version, _paths(agent, state_dir))), None)
    if found is None:
        return []
    profiles, order = _read(*found)
    mine = {name: profile for name, profile in profiles.items() if profile.provider == provider}
    endpoints = [
        endpoint(provider, given, f"{agent.id}:{name}", profile.api_key, profile.limits)
        for name, profile in mine.items()
    ]
    return _grouped(endpoints, [f"{agent.id}:{name}" for name in order.get(provider, [])])


def _paths(agent: AgentConfig, state_dir: Path) -> list[Path]:
    own = state_dir / "agents" / agent.id
    return [agent.auth_dir / FILE] if agent.auth_dir else [own / FILE, own / "agent" / FILE]


def _version(path: Path) -> tuple[Path, int] | None:
    try:
        # The time is part of the cache's key, so a changed file is read again.
        return path, path.stat().st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> tuple[dict[str, _Profile], dict[str, list[str]]]:
    try:
        file = _File.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        # A validation error would quote the keys.
        problem = f"{len(error.errors())} wrong fields" if isinstance(error, ValidationError) else type(error).__name__
        raise BadInput(
            f"{path} cannot be read: {problem}", hint='expected {"profiles": {id: {provider, apiKey}}}'
        ) from None
    profiles = {}
    for name, given in file.profiles.items():
        try:
            profiles[name] = _Profile.model_validate(given)
        except ValidationError:
            why = "expected a provider and an apiKey, key or token"
            log.warning("key.skipped", path=str(path), profile=name, kind=str(given.get("type", "")), why=why)
    return profiles, file.order
