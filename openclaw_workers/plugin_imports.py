"""Finds and imports plugins: for their tools in workers, and for their hooks in workers and the ingress.

One that cannot be imported is reported with the reason; the others are imported all the same.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

import structlog

from openclaw_workers.config.plugins import PluginsSettings
from openclaw_workers.hooks import register_methods

log = structlog.get_logger(__name__)

GROUP = "openclaw_workers.plugins"
IMPORT_SECONDS = 30.0
"""A plugin that takes longer to import is left out, so that the process starts."""
_REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class ImportedPlugin:
    name: str
    origin: str
    """The package and version that announces it, or the module of the configuration."""
    state: Literal["loaded", "failed", "denied"]
    problem: str = ""
    """Why it could not be imported."""
    loaded: Any = None
    """The module or object that was imported."""


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    origin: str
    load: Callable[[], Any]


def import_plugins(settings: PluginsSettings) -> list[ImportedPlugin]:
    """Import every plugin that is installed or configured. Once per process: it registers their hooks, too."""
    if not settings.enabled:
        return []
    sys.path += [path for path in map(str, settings.paths) if path not in sys.path]
    plugins = []
    for found in _find(settings):
        is_denied = found.name in settings.deny
        plugin = ImportedPlugin(found.name, found.origin, "denied") if is_denied else _import(found)
        if plugin.problem:
            log.error("plugin.problem", plugin=plugin.name, origin=plugin.origin, problem=plugin.problem)
        elif plugin.loaded is not None:
            register_methods(plugin.loaded, plugin.name)
        plugins.append(plugin)
    return plugins


def _find(settings: PluginsSettings) -> Iterator[_Found]:
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        yield _Found(entry.name, _origin(entry), entry.load)
    for module in dict.fromkeys(settings.modules):
        yield _Found(module, f"module {module}", lambda module=module: import_module(module))  # type: ignore[misc]


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def _import(found: _Found) -> ImportedPlugin:
    """Import it in a thread, because the import of somebody else's code may hang or end the process."""
    outcome: list[ImportedPlugin] = []

    def work() -> None:
        try:
            outcome.append(ImportedPlugin(found.name, found.origin, "loaded", loaded=found.load()))
        except BaseException as error:  # noqa: BLE001 - reported; also SystemExit
            reason = f"{type(error).__name__}: {error}"[:_REASON_CHARS]
            outcome.append(ImportedPlugin(found.name, found.origin, "failed", reason))

    thread = threading.Thread(target=work, name=f"ocw-import-{found.name}", daemon=True)
    thread.start()
    thread.join(IMPORT_SECONDS)
    late = f"it was not imported within {IMPORT_SECONDS:g} seconds"
    return outcome[0] if outcome else ImportedPlugin(found.name, found.origin, "failed", late)
