"""The keys of providers as JSON answers: which are paused after failures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openclaw_workers.config.configured_models import configured_models
from openclaw_workers.config.model_catalog import Catalog
from openclaw_workers.config.model_names import display_names, has_key, usable_models
from openclaw_workers.config.resolve import agent_ids, default_model, model_aliases, resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import NotFound, ProviderError
from openclaw_workers.store.llm.cooldowns import Cooldown, CooldownList
from openclaw_workers.views.models import cooldown_json, model_json, ready_json

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation


def keys_answer(installation: Installation) -> dict[str, Any]:
    """Every key of every provider, paused or ready."""
    pauses, now = _pauses(installation).all()
    rows = [cooldown_json(pause, now) for pause in pauses]
    paused = {(pause.provider, pause.profile) for pause in pauses}
    rows += [ready_json(*each) for each in _configured(installation) if each not in paused]
    rows.sort(key=lambda row: (row["provider"], row["profile"], row["model"] or "", row["until"] or 0))
    return {"ok": True, "at": now, "profiles": rows}


def models_answer(installation: Installation) -> dict[str, Any]:
    """The models that agents use or people can choose: those that are configured, then others that have a key."""
    settings = installation.loaded.settings
    default = default_model(settings, os.environ)
    catalog, names = Catalog(settings.models), display_names(settings)
    aliases, users = _turned(model_aliases(settings)), _users(settings, default)
    rows = []
    for ref in dict.fromkeys([*configured_models(settings, default), *usable_models(settings)]):
        provider, _, name = ref.partition("/")
        try:
            info = catalog.model(provider, name) if provider not in ("offline", "cli") else None
        except ProviderError:
            info = None  # the check of the configuration names it
        rows.append(
            model_json(
                ref,
                info,
                has_key=has_key(settings, ref),
                name=names.get(ref),
                aliases=aliases.get(ref, []),
                agents=users.get(ref, []),
            )
        )
    return {"ok": True, "default": default, "models": rows}


def _users(settings: Settings, default: str) -> dict[str, list[str]]:
    """The agents that call a model first, by model."""
    first = {each: resolve_agent(settings, each, default_model=default).primary for each in agent_ids(settings)}
    return _turned(first)


def _turned(found: Mapping[str, str]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {}
    for key, value in found.items():
        turned.setdefault(value, []).append(key)
    return turned


def resume_keys(installation: Installation, wanted: str) -> tuple[list[Cooldown], int]:
    """End the pauses of a provider's keys, or of one key; return them, and the time now.

    Raises:
        NotFound: there is no such provider or key.
    """
    provider, _, profile = wanted.partition("/")
    store = _pauses(installation)
    pauses, now = store.all()
    ended = [pause for pause in pauses if pause.is_of(provider, profile)]
    # An agent's own key is not in the configuration, and is known only while it is in cooldown.
    known = {(pause.provider, pause.profile) for pause in pauses} | set(_configured(installation))
    if not any(name == provider and profile in ("", each) for name, each in known):
        raise NotFound(f"no provider or key {wanted}", hint="`ocw models status` lists them")
    store.end(ended)
    return ended, now


def resumed_answer(ended: list[Cooldown], now: int) -> dict[str, Any]:
    return {"ok": True, "resumed": [cooldown_json(pause, now) for pause in ended]}


def _pauses(installation: Installation) -> CooldownList:
    return CooldownList(installation.stores.redis, installation.stores.keys)


def _configured(installation: Installation) -> list[tuple[str, str]]:
    """The keys that all agents share. Keys of a single agent are listed only while they are paused."""
    found = []
    for name, given in installation.loaded.settings.models.providers.items():
        profiles = [profile.id for profile in given.auth_profiles]
        if given.api_key is not None or (not profiles and given.base_url):
            profiles.append("default")
        found += [(name, profile) for profile in dict.fromkeys(profiles)]
    return found
