"""Reading and adding to memory files, inside the memory paths and the scopes of one session."""

from __future__ import annotations

import fcntl
import os
from datetime import datetime
from typing import Any

from openclaw_workers.clock import zone_of
from openclaw_workers.engine.memory.read_lines import ALLOWED, read_lines
from openclaw_workers.errors import BadInput, ToolError
from openclaw_workers.memory.files import FOLDER, PEERS, ROOT_NAMES, MemoryRoots, find_file
from openclaw_workers.memory.scopes import SHARED, Visibility
from openclaw_workers.tools.files.paths import WorkspacePath, locate, parent_directory


class MemoryFiles:
    def __init__(self, roots: MemoryRoots, visible: Visibility, timezone: str) -> None:
        self._roots = roots
        self._visible = visible
        self._timezone = timezone

    def get(self, path: str, *, first: int | None = None, count: int | None = None) -> dict[str, Any]:
        """Lines of a memory file; a direct chat's own file comes before a shared one of that name.

        Raises:
            NotFound: there is no such file, or this session may not see it; the error does not say which.
        """
        own = self._own(path)
        named = own if find_file(self._roots, own) else path
        return read_lines(self._roots, self._visible, named, first=first, count=count)

    def append(self, content: str, path: str | None = None) -> dict[str, Any]:
        """Add text at the end of a memory file. Text that is already its end is not added again.

        Raises:
            BadInput: this session may not write there.
            ToolError: the file cannot be written.
        """
        if not self._visible.can_write:
            raise BadInput("this session may not write memory files: its sandbox has no write access to the workspace")
        place = self._target(path or f"{FOLDER}/{datetime.now(zone_of(self._timezone)):%Y-%m-%d}.md")
        text = content.strip("\n") + "\n"
        try:
            start, end = self._append(place, text)
        except OSError as error:
            raise ToolError(f"cannot write {place.shown}: {error.strerror or error}") from error
        return {"path": place.shown, "startLine": start, "endLine": end, "written": True}

    def _target(self, path: str) -> WorkspacePath:
        place = locate(self._roots.workspace, self._own(path))
        shown = place.shown
        in_folder = len(place.parts) > 1 and place.parts[0] == FOLDER and shown.endswith(".md")
        if not (in_folder or shown in ROOT_NAMES):
            raise BadInput(f"{path!r} is not a memory path; {ALLOWED}")
        own = f"{self._visible.folder}/" if self._visible.folder else ""
        if own and not shown.startswith(own):
            raise BadInput(f"this chat saves its notes in {self._visible.folder}; name a file there")
        if not own and place.parts[:2] == (FOLDER, PEERS):
            raise BadInput(f"{FOLDER}/{PEERS} holds the notes of other chats; name another file")
        if not own and not self._visible.sees(SHARED):
            raise BadInput("this session does not see the agent's memory files")
        return place

    def _own(self, path: str) -> str:
        """Where a direct chat that is apart from the others keeps the file: memory/x.md becomes its own x.md."""
        folder, named = self._visible.folder, path.strip().removeprefix("./")
        if not folder or named.startswith(f"{FOLDER}/{PEERS}/") or os.path.isabs(named):
            return named
        return f"{folder}/{named.removeprefix(f'{FOLDER}/')}"

    def _append(self, place: WorkspacePath, text: str) -> tuple[int, int]:
        """Append under a lock, so that two sessions do not mix their lines; returns the lines written."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with parent_directory(place, create=True) as folder:
            handle = os.open(place.parts[-1], flags, 0o644, dir_fd=folder)
        with os.fdopen(handle, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            data = text.encode()
            # A call that is repeated after a crash finds its text there already.
            if before == data or before.endswith(b"\n" + data):
                count = before.count(b"\n")
                return count - data.count(b"\n") + 1, count
            gap = b"" if not before or before.endswith(b"\n") else b"\n"
            file.write(gap + data)
            file.flush()
            os.fsync(file.fileno())
        start = (before + gap).count(b"\n") + 1
        return start, start + data.count(b"\n") - 1
