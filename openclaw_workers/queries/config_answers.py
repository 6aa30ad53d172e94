"""The configuration as JSON answers: the values in use, and what a check has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.config.schema_tree import dotted, leaves
from openclaw_workers.errors import BadInput
from openclaw_workers.views.errors import error_json

if TYPE_CHECKING:
    from openclaw_workers.config.loader import Loaded
    from openclaw_workers.errors import ConfigurationError


def config_values(loaded: Loaded, prefix: str = "") -> list[dict[str, Any]]:
    """Every value below a path, and its origin. Secrets are hidden.

    Raises:
        BadInput: there is no such setting.
    """
    values = [
        {
            "path": path,
            "value": leaf.value,
            "origin": loaded.origins[path],
        }
        for leaf in leaves(loaded.settings)
        if (path := dotted(leaf.loc)) == prefix or path.startswith((f"{prefix}.", f"{prefix}[") if prefix else "")
    ]
    if not values:
        raise BadInput(f"no setting {prefix!r}; `ocw config show` lists them all")
    return values


def values_answer(loaded: Loaded, prefix: str = "") -> dict[str, Any]:
    values = config_values(loaded, prefix)
    return {"ok": True, "source": source_of(loaded), "stateDir": str(loaded.state_dir), "values": values}


def check_answer(loaded: Loaded) -> dict[str, Any]:
    return {"ok": True, "source": source_of(loaded)}


def failed_check_answer(error: ConfigurationError) -> dict[str, Any]:
    return {"ok": False, "source": error.source, "error": error_json(error), "problems": error.problems}


def source_of(loaded: Loaded) -> str | None:
    return str(loaded.source) if loaded.source else None
