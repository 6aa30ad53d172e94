"""The files that a patch changes: all of them are written, or none."""

from __future__ import annotations

import secrets
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.files.changes import Snapshot, delete, read_whole, rename, status_of, write_whole
from openclaw_workers.tools.files.paths import WorkspacePath
from openclaw_workers.tools.files.text_content import MAX_TEXT_BYTES, TextContent, decode_text


@dataclass(slots=True)
class PatchedFile:
    """A file as it is and as the patch leaves it."""

    place: WorkspacePath
    after: str | None = None
    """Its new text; None: it is deleted."""
    before: Snapshot | None = None
    """As it was read; None: it was not read, or is new."""
    content: TextContent = field(default_factory=lambda: TextContent(""))
    """How its text is encoded."""
    mode: int | None = None
    exists: bool = False

    @classmethod
    def read(cls, place: WorkspacePath) -> PatchedFile:
        """A file to be changed."""
        before = read_whole(place)
        content = decode_text(before.data, place.shown)
        return cls(place, content.text, before, content, before.mode, exists=True)

    @classmethod
    def found(cls, place: WorkspacePath) -> PatchedFile:
        """A file to be deleted.

        Raises:
            ToolError: there is none.
        """
        status = status_of(place) if place.parts else None
        if status is None:
            raise ToolError(f"no such file: {place.shown}")
        if stat.S_ISDIR(status.st_mode):
            raise ToolError(f"{place.shown} is a directory; only files can be deleted")
        return cls(place, exists=True)

    def data(self) -> bytes:
        data = self.content.encode(self.after or "")
        if len(data) > MAX_TEXT_BYTES:
            raise ToolError(f"{self.place.shown} would have {len(data):,} bytes; the most is {MAX_TEXT_BYTES:,}")
        return data


def write_all(files: Sequence[PatchedFile]) -> None:
    """Write and delete the files. If that fails for one of them, the others are put back.

    Raises:
        ToolError: a file cannot be written.
    """
    data = {file.place.parts: file.data() for file in files if file.after is not None}
    renamed: list[WorkspacePath] = []
    undo: list[Callable[[], object]] = []
    try:
        # Deletions come last: they fail most rarely.
        for file in sorted(files, key=lambda each: each.after is None):
            if file.exists and (file.after is None or file.before is None):
                # Until everything else has worked, a deletion is only a rename, so that it can be undone.
                renamed.append(rename(file.place, f".ocw-{secrets.token_hex(8)}.tmp"))
                undo.append(_renaming(renamed[-1], file.place))
            if file.after is not None:
                write_whole(file.place, data[file.place.parts], before=file.before, mode=file.mode)
                undo.append(_rewriting(file))
    except BaseException:
        for step in reversed(undo):
            # One file that cannot be put back must not keep the others from it.
            with suppress(ToolError):
                step()
        raise
    for place in renamed:
        delete(place)


def _renaming(renamed: WorkspacePath, place: WorkspacePath) -> Callable[[], object]:
    return lambda: rename(renamed, place.parts[-1])


def _rewriting(file: PatchedFile) -> Callable[[], object]:
    before = file.before
    return (lambda: delete(file.place)) if before is None else (lambda: write_whole(file.place, before.data))
