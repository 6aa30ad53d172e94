"""Files that were sent with messages: written into the workspace where the turn runs, then deleted in Redis.

A file is written under another name and renamed, so it is there as a whole or not at all. A worker that dies before
that leaves the chunks for the next one; a worker that dies after it leaves a file that the next one finds.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import structlog

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.transcript import Attachment, TranscriptEntry, UserEntry
from openclaw_workers.errors import NotFound
from openclaw_workers.file_access import open_directory, replace_file
from openclaw_workers.store.uploads import KEPT_SECONDS, Uploads

log = structlog.get_logger(__name__)

GONE = "it is neither in the workspace nor in Redis, where files wait for 24 hours; ask for it again"

Receive = Callable[[Iterable[TranscriptEntry]], None]
"""Writes the files of entries, and makes their paths absolute."""


class ReceivedFiles:
    def __init__(self, uploads: Uploads, is_elsewhere: Callable[[str], bool]) -> None:
        """`is_elsewhere`: whether the files of an agent are at a place that this host does not see."""
        self._uploads = uploads
        self._is_elsewhere = is_elsewhere

    def into(self, workspace: Path, agent_id: str) -> Receive:
        """What writes the files of a turn of an agent that works in this directory.

        What it returns raises StoreUnavailable if Redis is away; it is safe to repeat.
        """
        if self._is_elsewhere(agent_id):
            return _leave  # a turn that only ends here, because it was stopped; the next one runs where the files are
        root = os.path.realpath(workspace)
        return lambda entries: self._receive(entries, root)

    def _receive(self, entries: Iterable[TranscriptEntry], root: str) -> None:
        written: list[str] = []
        for entry in entries:
            for file in entry.attachments if isinstance(entry, UserEntry) else ():
                # A path that is absolute is that of a written file; such an entry may be seen several times.
                if file.upload is None or file.path.startswith("/"):
                    continue
                is_recent = now_ms() - entry.timestamp < KEPT_SECONDS * 1000
                file.found(os.path.join(root, file.path), self._problem(file, root, is_recent=is_recent))
                if is_recent and not file.problem:
                    written.append(file.upload)
        # Also what an earlier owner has written: it may have died before it deleted the chunks.
        self._uploads.discard(written)

    def _problem(self, file: Attachment, root: str, *, is_recent: bool) -> str:
        """Write a file unless it is there; says why that is not possible."""
        try:
            parts = _parts(file.path)
            # Another owner of the turn has written it, and may have deleted the chunks already.
            if _is_there(root, parts):
                return ""
            if not is_recent:
                return GONE
            content = self._uploads.load(file.upload or "", file.size or 0, file.name)
            _write(root, parts, content)
        except NotFound:
            # A worker that was only asleep may have written it just now.
            return "" if _is_there(root, parts) else GONE
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            log.error("attachment.not_written", name=file.name, path=file.path, error=reason)
            return f"it cannot be written into the workspace: {reason}"
        log.info("attachment.written", path=file.path, size=file.size)
        return ""


def _leave(entries: Iterable[TranscriptEntry]) -> None:
    """Write nothing."""


def _parts(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).parts
    if not parts or any(part in ("/", "..") for part in parts):
        raise ValueError(f"{path} is not inside the workspace")
    return parts


def _is_there(root: str, parts: tuple[str, ...]) -> bool:
    try:
        folder = open_directory(root, parts[:-1])
    except FileNotFoundError:
        return False
    try:
        # Without following links: one that was put here could lead out of the workspace.
        return stat.S_ISREG(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False
    finally:
        os.close(folder)


def _write(root: str, parts: tuple[str, ...], content: bytes) -> None:
    folder = open_directory(root, parts[:-1], create=True)
    try:
        replace_file(folder, parts[-1], content)
    finally:
        os.close(folder)
