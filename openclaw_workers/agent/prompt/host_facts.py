"""Facts about the host for the system prompt."""

from __future__ import annotations

from pathlib import Path


def repo_of(workspace: Path) -> str:
    """The nearest parent directory that contains `.git`, or "". In a linked work tree `.git` is a file."""
    return next((str(each) for each in (workspace, *workspace.parents) if (each / ".git").exists()), "")
