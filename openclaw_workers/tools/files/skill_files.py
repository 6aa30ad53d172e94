"""Files of skills outside the workspace, which the read tool opens and no other tool."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from openclaw_workers.tools.files.paths import WorkspacePath, locate


def find_skill_path(named: str, readable: Sequence[str]) -> WorkspacePath | None:
    """A path as the list of skills gives it, if it lies in one of these folders or is one of these files.

    It must be absolute or begin with `~/`. Links are followed first, so none leads out of the folder.
    """
    if not readable or "\0" in named:
        return None
    path = os.path.expanduser(named) if named.startswith("~/") else named
    if not os.path.isabs(path):
        return None
    try:
        real = os.path.realpath(path)
    except OSError:
        return None
    for each in readable:
        if real == each and not os.path.isdir(each):
            return WorkspacePath(os.path.dirname(each), (os.path.basename(each),))
        if real == each or real.startswith(f"{each}/"):
            return locate(Path(each), real)
    return None
