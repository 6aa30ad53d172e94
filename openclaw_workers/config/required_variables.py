"""Which variables a configuration needs of a worker's host, and which of them it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.config.cross_checks import mapping_at
from openclaw_workers.config.loader import ENVIRONMENT, SECRET_VARIABLES
from openclaw_workers.config.secret_references import EDGE_SECTIONS, needed_variables


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of a host, as a worker needs them."""

    held: frozenset[str] = frozenset()
    """Those that are set here."""
    missing_secrets: frozenset[str] = frozenset()
    """Secrets, and variables of services, that the configuration names and that are not set here. If nobody has
    one, calls that need it fail as without a key."""
    missing_values: frozenset[str] = frozenset()
    """Others that are not set here: a setting is not known without them."""
    unused: frozenset[str] = frozenset()
    """Keys of services that could be set here, such as OPENAI_API_KEY, and are not."""


def variables_of(tree: dict[str, Any], env: Mapping[str, str]) -> Variables:
    needed = needed_variables(tree)
    # Keys that a worker takes from its environment unasked. If some workers have one, the others lack it.
    optional = {name for name in SECRET_VARIABLES if _may_be_set(tree, name)} - needed.keys()
    held = frozenset(name for name in {*needed, *optional} if env.get(name))
    missing = needed.keys() - held
    return Variables(
        held=held,
        missing_secrets=frozenset(name for name in missing if needed[name]),
        missing_values=frozenset(name for name in missing if not needed[name]),
        unused=frozenset(optional - held),
    )


def _may_be_set(tree: dict[str, Any], variable: str) -> bool:
    """Whether a worker takes the secret of this setting from its environment: the configuration names none."""
    *path, key = map(str, ENVIRONMENT[variable])
    return path[0] not in EDGE_SECTIONS and key not in mapping_at(tree, *path)
