"""Facts about the host for the system prompt: git repository and time zone."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def repo_of(workspace: Path) -> str:
    """The nearest parent directory that contains `.git`, or "". In a linked work tree `.git` is a file."""
    return next((str(each) for each in (workspace, *workspace.parents) if (each / ".git").exists()), "")


def zone_name(configured: str, localtime: Path = Path("/etc/localtime")) -> str:
    """The name of the configured time zone; for `local` that of this machine, or "" if it has none.

    An offset would not do instead: it changes twice a year, which would change the cached prompt.
    """
    if configured != "local":
        return configured
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        try:
            name = os.readlink(localtime)
        except OSError:
            return ""
    name = name.rpartition("zoneinfo/")[2].removeprefix("posix/")
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""
