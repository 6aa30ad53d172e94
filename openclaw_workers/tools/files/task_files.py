"""Files that come with a sub-agent's task: make their names safe and write them into the workspace."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from pathlib import Path

from openclaw_workers.domain.file_names import safe_file_name
from openclaw_workers.errors import ToolError


def numbered_file_name(name: str, index: int) -> str:
    """A safe file name, made unique by its position."""
    return f"{index + 1}-{safe_file_name(name)}"


def write_task_files(workspace: Path, inside: str, files: Mapping[str, str]) -> None:
    """Write the files that do not exist yet, each atomically. Names must be safe; contents are base64.

    Raises:
        ToolError: a link in the workspace leads outside.
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
