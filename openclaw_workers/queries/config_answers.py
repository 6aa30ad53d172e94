"""The configuration as JSON answers: the values in use, and what a check has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.config.changes import changes_between
from openclaw_workers.config.schema_tree import dotted, leaves
from openclaw_workers.errors import BadInput
from openclaw_workers.views.errors import error_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openclaw_workers.config.changes import SettingChange
    from openclaw_workers.config.loader import Loaded
    from openclaw_workers.config.publication import Draft
    from openclaw_workers.errors import ConfigurationError
    from openclaw_workers.store.configs import ConfigVersion, Published


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
    return {
        "ok": True,
        "version": version_of(loaded),
        "source": source_of(loaded),
        "stateDir": str(loaded.state_dir),
        "values": values,
    }


def check_answer(loaded: Loaded) -> dict[str, Any]:
    return {"ok": True, "source": source_of(loaded)}


def failed_check_answer(error: ConfigurationError) -> dict[str, Any]:
    return {"ok": False, "source": error.source, "error": error_json(error), "problems": error.problems}


def apply_answer(
    before: ConfigVersion | None,
    published: Published | None,
    changes: Sequence[SettingChange],
    made: Draft | None = None,
) -> dict[str, Any]:
    """What was published, and what it changes. Without `published` nothing was."""
    previous = before.number if before else None
    return {
        "ok": True,
        "published": published is not None and published.is_new,
        "version": published.number if published else previous,
        "previous": previous,
        "changes": [change_json(each) for each in changes],
        # With the first version every setting is new, and no worker has started with another.
        "restart": [each.path for each in changes if each.needs_restart and before is not None],
        "movedSecrets": sorted(made.secrets) if made else [],
        "unset": {path: list(names) for path, names in made.loaded.unset.items()} if made else {},
    }


def history_answer(versions: Sequence[ConfigVersion], current: int | None) -> dict[str, Any]:
    """Versions, newest first, each with what it changed against the one before."""
    rows = []
    for at, version in enumerate(versions):
        older = versions[at + 1].document.tree if at + 1 < len(versions) else None
        document = version.document
        changes = changes_between(older, document.tree) if older is not None else []
        rows.append(
            {
                "version": version.number,
                "inForce": version.number == current,
                "at": document.at,
                "by": document.by,
                "note": document.note,
                "codeVersion": document.code,
                "changes": [change_json(each) for each in changes],
            }
        )
    return {"ok": True, "versions": rows}


def change_json(change: SettingChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "before": change.before,
        "after": change.after,
        "needsRestart": change.needs_restart,
    }


def version_of(loaded: Loaded) -> int | None:
    """The number of the published configuration; None for that of a file."""
    return int(loaded.version.partition("-")[0]) if loaded.version else None


def source_of(loaded: Loaded) -> str | None:
    return str(loaded.source) if loaded.source else None
