"""Files that come with a task: names made safe, contents put into the workspace."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from pathlib import Path

from openclaw_workers.domain.file_names import plain_name
from openclaw_workers.errors import ToolError


def safe_name(name: str, index: int) -> str:
    """A plain file name, told apart by its place."""
    return f"{index + 1}-{plain_name(name)}"


def materialise(workspace: Path, inside: str, files: Mapping[str, str]) -> None:
    """Write files that are not there yet, each whole or not at all; their names are safe and their contents base64.

    Raises:
        ToolError: a link in the workspace leads out of it.
    """
    folder = workspace / inside
    if not folder.resolve().is_relative_to(workspace.resolve()):
        raise ToolError(f"files for it cannot be put into {folder}, which leads out of the workspace")
    for name, content in files.items():
        path = folder / name
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            half = folder / f".writing-{secrets.token_hex(4)}"
            half.write_bytes(base64.b64decode(content))
            half.replace(path)
