"""Where a child's files lie in its workspace, and removing them when its session is deleted."""

from __future__ import annotations

import shutil
from pathlib import Path

from openclaw_workers.domain.ids import SessionKey


def files_dir(session: SessionKey) -> str:
    """Where in its workspace a child finds its files. A directory of its own: siblings often share the workspace."""
    return f".openclaw/attachments/{session.rsplit(':', 1)[-1]}"


def discard(workspace: Path, inside: str) -> None:
    """Remove what a child was given, and what was added to it; never by a link that leads elsewhere."""
    folder = workspace / inside
    if not folder.is_symlink() and folder.resolve().is_relative_to(workspace.resolve()):
        shutil.rmtree(folder, ignore_errors=True)
