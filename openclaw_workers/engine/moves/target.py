"""The host that gets the files: it asks for them, writes them beside its workspace, and puts them in place at the end.

What is there already is not asked for again, so whoever goes on after a crash begins where the other ended. A file is
complete when it has the size and the time of the original; the time is set last.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from openclaw_workers.engine.moves.listing import FileEntry, is_inside, look_at
from openclaw_workers.errors import OpenClawError
from openclaw_workers.place_id import seen_place, write_place

MOST_PASSES = 5
"""How often it looks again for what has changed meanwhile; nothing of the agent runs, but people may."""

Ask = Callable[[str, Mapping[str, Any]], dict[str, Any]]
Progress = Callable[[int, int, int], None]
"""Gets how many entries are done, how many there are, and the bytes that were copied."""


class MoveFailed(OpenClawError):
    """The files cannot be moved; the old ones stay in use."""


class MoveTarget:
    def __init__(self, workspace: Path, move_id: str, place: str, ask: Ask, progress: Progress) -> None:
        """`place`: the id that the workspace gets here."""
        self._workspace = workspace
        self._staging = workspace.with_name(f"{workspace.name}.moving-{move_id}")
        self._move_id = move_id
        self._place = place
        self._ask = ask
        self._progress = progress
        self._bytes = 0

    def copy(self) -> None:
        """Copy everything; returns when a whole pass has found nothing new.

        Raises:
            MoveFailed: a file cannot be read there or written here, or they do not stop changing.
        """
        if self.is_in_place:
            return
        try:
            self._staging.mkdir(parents=True, exist_ok=True)
            for _ in range(MOST_PASSES):
                if not self._pass():
                    return
        except OSError as error:
            raise MoveFailed(
                f"{error.filename or self._staging} cannot be written: {error.strerror or error}"
            ) from error
        raise MoveFailed("the files change while they are copied", hint="stop what changes them, and move them again")

    @property
    def is_in_place(self) -> bool:
        return seen_place(self._workspace) == self._place

    def put_in_place(self) -> Path | None:
        """Use the files from now on; returns where what lay here before is kept.

        Raises:
            MoveFailed: they cannot be renamed.
        """
        if self.is_in_place:
            return None
        kept: Path | None = None
        try:
            self._staging.mkdir(parents=True, exist_ok=True)
            write_place(self._staging, self._place)
            # Before the rename: after a power failure the new name must not lead to half-written files.
            os.sync()
            if self._workspace.exists():
                kept = self._workspace.with_name(f"{self._workspace.name}.before-{self._move_id}")
                self._workspace.rename(kept)
            self._staging.rename(self._workspace)
        except OSError as error:
            raise MoveFailed(f"{self._workspace} cannot be replaced: {error.strerror or error}") from error
        return kept

    def _pass(self) -> bool:
        """Copy what is missing or different; says whether there was anything."""
        changed, directories = False, []
        for done, (entry, total) in enumerate(self._listed(), 1):
            if not is_inside(entry.path):
                raise MoveFailed(f"{entry.path!r} is outside the workspace")
            changed |= self._bring(entry)
            directories += [entry] if entry.kind == "directory" else []
            self._progress(done, total, self._bytes)
        for entry in reversed(directories):  # a directory without the right to write takes no more files
            os.chmod(self._staging / entry.path, entry.mode)
        return changed

    def _listed(self) -> Iterator[tuple[FileEntry, int]]:
        start, total = 0, 1
        while start < total:
            page = self._checked(self._ask("list", {"from": start}))
            total = int(page["total"])
            for fields in page["entries"]:
                yield FileEntry(*fields), total
            start += len(page["entries"])
            if not page["entries"]:
                return

    def _bring(self, entry: FileEntry) -> bool:
        here, path = look_at(self._staging, entry.path), self._staging / entry.path
        if entry.kind == "directory":
            if here is None or here.kind != "directory":
                path.mkdir()
            os.chmod(path, entry.mode | 0o700)
            return here is None
        if here == entry:
            return False
        if here is not None:
            path.unlink()
        if entry.kind == "link":
            os.symlink(entry.target, path)
        else:
            self._fetch(entry, path)
        return True

    def _fetch(self, entry: FileEntry, path: Path) -> None:
        with path.open("wb") as file:
            while file.tell() < entry.size:
                answer = self._checked(self._ask("read", {"path": entry.path, "offset": file.tell()}))
                piece = base64.b64decode(answer["data"])
                if not piece:
                    break  # it has become shorter; the next pass sees so
                file.write(piece)
                self._bytes += len(piece)
            file.flush()
            os.fchmod(file.fileno(), entry.mode)
            # By the open file, not by its path: another worker may have started it again under the same path.
            os.utime(file.fileno(), ns=(time.time_ns(), entry.changed_ns))

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            raise MoveFailed(f"{answer.get('path')} cannot be read: {answer['error']}")
        return answer
