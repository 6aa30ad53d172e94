"""What becomes of settings whose variables are not set on a host: only what needs a variable goes without it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from openclaw_workers.config.cross_checks import mapping_at
from openclaw_workers.config.schema_tree import Loc

NOWHERE = "http://variable-not-set.invalid"
"""An address that never answers, for a provider whose own is not known on this host."""


def complete_without(tree: dict[str, Any], unset: Collection[Loc]) -> None:
    """Make a tree valid again from which settings were left out. This changes `tree`."""
    if not unset:
        return
    # The last two parts, because the file may have these blocks under a shorter path.
    left_out = {tuple(map(str, loc[-2:])) for loc in unset}
    for name, provider in mapping_at(tree, "models", "providers").items():
        if not isinstance(provider, dict):
            continue
        if (name, "baseUrl") in left_out:
            provider["baseUrl"] = NOWHERE
        _drop_profiles_without_key(provider)
    servers = mapping_at(tree, "mcp", "servers")
    for name in servers:
        if {(name, "url"), (name, "command")} & left_out:
            servers[name] = {"enabled": False, "url": NOWHERE}
    hooks = mapping_at(tree, "hooks")
    # Webhooks without a token would be open to everybody, so validation refuses them.
    if hooks.get("enabled") and "token" not in hooks:
        hooks["enabled"] = False
    telegram = mapping_at(tree, "channels", "telegram")
    accounts = mapping_at(telegram, "accounts")
    _switch_off(telegram, [loc[2:] for loc in unset if loc[:2] == ("channels", "telegram") and "accounts" not in loc])
    for name in accounts:
        _switch_off(mapping_at(accounts, name), [loc[loc.index(name) + 1 :] for loc in unset if name in loc])


def _switch_off(bot: dict[str, Any], unset: Collection[Loc]) -> None:
    """A bot that would be reached otherwise than it should, without a variable, does not start on this host."""
    if any(loc[:1] in (("webhook",), ("apiRoot",)) for loc in unset):
        bot["enabled"] = False
        bot.pop("webhook", None)
    if ("transcribe", "baseUrl") in unset:
        bot.pop("transcribe", None)


def _drop_profiles_without_key(provider: dict[str, Any]) -> None:
    profiles = provider.get("authProfiles")
    if not isinstance(profiles, list):
        return
    kept = [each for each in profiles if not isinstance(each, dict) or "apiKey" in each]
    dropped = {each["id"] for each in profiles if isinstance(each, dict) and "apiKey" not in each and "id" in each}
    provider["authProfiles"] = kept
    if isinstance(order := provider.get("authOrder"), list):
        provider["authOrder"] = [name for name in order if name not in dropped]
