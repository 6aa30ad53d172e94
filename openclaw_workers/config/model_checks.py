"""Checks across several settings of providers and models. They run on the raw tree, like `cross_checks`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from openclaw_workers.config.cross_checks import mapping_at
from openclaw_workers.config.model_names import OFFLINE
from openclaw_workers.config.normalise import Normaliser
from openclaw_workers.config.schema_tree import Loc

_OWN_APIS: Final = {
    "anthropic": {"anthropic-messages"},
    "openai": {"openai-completions", "openai-responses"},
}
"""The providers whose URL is built in, with the APIs that each serves."""

_BUILT_IN: Final = ("offline", "cli")


def known_models(tree: dict[str, Any]) -> dict[str, Collection[str] | None]:
    """The providers by name, each with its models if that list is complete, else None."""
    known: dict[str, Collection[str] | None] = {**dict.fromkeys(_OWN_APIS), "offline": OFFLINE}
    if programs := mapping_at(tree, "models", "cli"):
        known["cli"] = list(programs)
    is_complete = mapping_at(tree, "models").get("mode") == "replace"
    for name, given in mapping_at(tree, "models", "providers").items():
        ids = [str(model.get("id")) for model in _listed(given)]
        known[name] = ids if is_complete and ids else None
    return known


def check_providers(tree: dict[str, Any], normaliser: Normaliser) -> Iterator[str]:
    """Check names, and require a baseUrl wherever none is built in: a key must not be sent to the wrong server."""
    for name, given in mapping_at(tree, "models", "providers").items():
        where: Loc = ("models", "providers", name)
        if name in _BUILT_IN or not re.fullmatch(r"[^/\s]+", name):
            yield f"{normaliser.where(where)}: expected a name without a slash, and not {' or '.join(_BUILT_IN)}"
        elif not isinstance(given, dict) or given.get("baseUrl"):
            continue
        elif name not in _OWN_APIS:
            yield f"{normaliser.where((*where, 'baseUrl'))}: required, because the address of {name!r} is not known"
        elif foreign := _apis(given) - _OWN_APIS[name]:
            reason = f"required, because {', '.join(sorted(foreign))} is not spoken at {name}'s own address"
            yield f"{normaliser.where((*where, 'baseUrl'))}: {reason}"


def _apis(given: dict[str, Any]) -> set[str]:
    return {str(api) for api in [given.get("api"), *(model.get("api") for model in _listed(given))] if api}


def _listed(given: Any) -> list[dict[str, Any]]:
    models = given.get("models") if isinstance(given, dict) else None
    return [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []
