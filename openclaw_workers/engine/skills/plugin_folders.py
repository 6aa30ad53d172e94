"""Skills that come with plugins: a folder `skills` beside the plugin's module."""

from __future__ import annotations

import sys
from pathlib import Path

from openclaw_workers.tools.plugins.load import Plugins


def plugin_folders(plugins: Plugins) -> list[Path]:
    """Where the loaded plugins keep skills, in their order."""
    found: dict[Path, None] = {}
    for plugin in plugins.all:
        loaded = plugin.imported.loaded
        module = loaded if hasattr(loaded, "__file__") else _module_of(loaded)
        file = getattr(module, "__file__", None)
        if file and (folder := Path(file).parent / "skills").is_dir():
            found[folder] = None
    return list(found)


def _module_of(loaded: object) -> object:
    """The module of an object that was loaded instead of a module."""
    return sys.modules.get(str(getattr(loaded, "__module__", "")))
