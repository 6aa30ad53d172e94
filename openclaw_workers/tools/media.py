"""Images and files that tools return: stored in the workspace, where requests to a model read them.

A file is named after its content, so that what a model was shown does not change when the original does.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from openclaw_workers.domain.file_names import safe_file_name
from openclaw_workers.domain.media_types import IMAGES, SNIFFED_BYTES, media_type
from openclaw_workers.domain.transcript import FileBlock, ImageBlock
from openclaw_workers.errors import ToolError
from openclaw_workers.file_access import open_directory, replace_file

FOLDER = (".openclaw", "media")


def store_file(workspace: Path, name: str, data: bytes) -> ImageBlock | FileBlock:
    """Store the bytes and return the block to return from a tool; storing them again changes nothing.

    Raises:
        ToolError: the workspace cannot take the file.
    """
    root, name = os.path.realpath(workspace), safe_file_name(name)
    stored_name = f"{hashlib.sha256(data).hexdigest()[:16]}-{name}"
    try:
        os.makedirs(root, exist_ok=True)
        folder = open_directory(root, FOLDER, create=True)
        try:
            replace_file(folder, stored_name, data)
        finally:
            os.close(folder)
    except OSError as error:
        raise ToolError(f"{name} cannot be stored in {'/'.join(FOLDER)}: {error.strerror or error}") from error
    kind, path = media_type(name, data[:SNIFFED_BYTES]), os.path.join(root, *FOLDER, stored_name)
    block = ImageBlock if kind in IMAGES else FileBlock
    return block(name=name, mime_type=kind, path=path)
