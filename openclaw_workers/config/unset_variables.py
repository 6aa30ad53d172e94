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
    for name, provider in mapping_at(tree, "models", "providers").items():
        if not isinstance(provider, dict):
            continue
        if any(loc[-2:] == (name, "baseUrl") for loc in unset):
            provider["baseUrl"] = NOWHERE
        _drop_profiles_without_key(provider)
    hooks = mapping_at(tree, "hooks")
    if hooks.get("enabled") and "token" not in hooks:
        hooks["enabled"] = False


def _drop_profiles_without_key(provider: dict[str, Any]) -> None:
    profiles = provider.get("authProfiles")
    if not isinstance(profiles, list):
        return
    kept = [each for each in profiles if not isinstance(each, dict) or "apiKey" in each]
    dropped = {each["id"] for each in profiles if isinstance(each, dict) and "apiKey" not in each and "id" in each}
    provider["authProfiles"] = kept
    if isinstance(order := provider.get("authOrder"), list):
        provider["authOrder"] = [name for name in order if name not in dropped]
