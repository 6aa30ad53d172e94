"""Problems of providers and models that lie between several settings; found on the tree, as in `checks`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from openclaw_workers.config.cross_checks import at
from openclaw_workers.config.model_names import OFFLINE
from openclaw_workers.config.normalise import Normalised
from openclaw_workers.config.schema_tree import Loc

_OWN_APIS: Final = {
    "anthropic": {"anthropic-messages"},
    "openai": {"openai-completions", "openai-responses"},
}
"""The providers whose address we know, and what is spoken there."""

_BUILT_IN: Final = ("offline", "cli")


def known_models(tree: dict[str, Any]) -> dict[str, Collection[str] | None]:
    """The providers by name, each with its models where it can have no others."""
    known: dict[str, Collection[str] | None] = {**dict.fromkeys(_OWN_APIS), "offline": OFFLINE}
    if programs := at(tree, "models", "cli"):
        known["cli"] = list(programs)
    is_complete = at(tree, "models").get("mode") == "replace"
    for name, given in at(tree, "models", "providers").items():
        ids = [str(model.get("id")) for model in _listed(given)]
        known[name] = ids if is_complete and ids else None
    return known


def check_providers(tree: dict[str, Any], tidied: Normalised) -> Iterator[str]:
    """A name that a model can be asked by, and an address wherever we know none: a key must not go to somebody else."""
    for name, given in at(tree, "models", "providers").items():
        where: Loc = ("models", "providers", name)
        if name in _BUILT_IN or not re.fullmatch(r"[^/\s]+", name):
            yield f"{tidied.where(where)}: expected a name without a slash, and not {' or '.join(_BUILT_IN)}"
        elif not isinstance(given, dict) or given.get("baseUrl"):
            continue
        elif name not in _OWN_APIS:
            yield f"{tidied.where((*where, 'baseUrl'))}: required, because the address of {name!r} is not known"
        elif foreign := _apis(given) - _OWN_APIS[name]:
            told = f"required, because {', '.join(sorted(foreign))} is not spoken at {name}'s own address"
            yield f"{tidied.where((*where, 'baseUrl'))}: {told}"


def _apis(given: dict[str, Any]) -> set[str]:
    return {str(api) for api in [given.get("api"), *(model.get("api") for model in _listed(given))] if api}


def _listed(given: Any) -> list[dict[str, Any]]:
    models = given.get("models") if isinstance(given, dict) else None
    return [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []
