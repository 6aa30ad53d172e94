"""The host that has the files: it answers what the other host asks about them."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from openclaw_workers.engine.moves.listing import FileEntry, entries, is_inside
from openclaw_workers.store.moves import PIECE_BYTES

PAGE = 500


class MoveSource:
    """Answers for one move. It keeps the list of files while it is asked for page after page."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._listed: list[FileEntry] = []

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What lies in the workspace from one position on, or a piece of a file."""
        try:
            if question["operation"] == "list":
                return self._list(int(question["from"]))
            return self._read(str(question["path"]), int(question["offset"]))
        except (OSError, RecursionError) as error:
            return {"error": f"{error.strerror or error}" if isinstance(error, OSError) else "it is too deep"} | {
                "path": str(question.get("path", self._workspace))
            }

    def _list(self, start: int) -> dict[str, Any]:
        if start == 0 or start > len(self._listed):
            self._listed = list(entries(self._workspace))
        page = [entry.as_list() for entry in islice(self._listed, start, start + PAGE)]
        return {"entries": page, "total": len(self._listed)}

    def _read(self, path: str, offset: int) -> dict[str, Any]:
        if not is_inside(path):
            return {"error": "it is outside the workspace", "path": path}
        # It may have become a link or a pipe since it was listed.
        file = os.open(self._workspace / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return {"data": base64.b64encode(os.pread(file, PIECE_BYTES, offset)).decode()}
        finally:
            os.close(file)
