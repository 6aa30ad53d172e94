"""Archived transcripts on disk that are older than their retention."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import structlog

from openclaw_workers.clock import now_ms
from openclaw_workers.store.session_index import SessionIndex

log = structlog.get_logger(__name__)

EVERY_SECONDS = 600
LOOK_SECONDS = 0.2
"""How long one look may take: the sweep has other things to do. The next sweep goes on."""


class ArchiveFiles:
    """Removes files of one state directory. Of the processes that share it, one looks in each period."""

    def __init__(
        self, index: SessionIndex, state_dir: Path, place_id: Callable[[], str], retention: timedelta | None
    ) -> None:
        self._index = index
        self._state_dir = state_dir
        self._place_id = place_id
        self._retention = retention
        self._next = 0.0
        self._left: Iterator[Path] | None = None

    def prune_now_and_then(self) -> None:
        """Called at the start of each sweep."""
        if self._retention is None:
            return
        if self._left is None and time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY_SECONDS
            place = self._place_id()
            if place and self._index.claim_files(place, EVERY_SECONDS):
                self._left = self._files(self._retention)
        if self._left is not None and self._prune(self._left):
            self._left = None

    def _prune(self, files: Iterator[Path]) -> bool:
        """Remove what is outdated; False if some files are left to look at."""
        until, removed, is_done = time.monotonic() + LOOK_SECONDS, 0, True
        for path in files:
            try:
                path.unlink()
                removed += 1
            except OSError as error:
                log.warning("archive.not_removed", path=str(path), error=str(error))
            if time.monotonic() > until:
                is_done = False
                break
        if removed:
            log.info("archives.removed", count=removed)
        return is_done

    def _files(self, retention: timedelta) -> Iterator[Path]:
        """Outdated archives. All of these files belong to sessions that ended: live ones are in Redis."""
        before = now_ms() / 1000 - retention.total_seconds()
        for folder in sorted((self._state_dir / "agents").glob("*/sessions")):
            with os.scandir(folder) as entries:
                for entry in entries:
                    is_archive = entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False)
                    if is_archive and entry.stat().st_mtime < before:
                        yield Path(entry.path)
