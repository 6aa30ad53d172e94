"""An archive that is not on disk yet."""

from __future__ import annotations

import structlog

from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.keys import ARCHIVE

log = structlog.get_logger(__name__)

RETRY_MS = 30_000
ELSEWHERE_MS = 2_000


class DueArchives:
    def __init__(self, due: DueItems, archives: ArchiveWriter) -> None:
        self._due = due
        self._archives = archives

    def handle(self, archive_id: str) -> None:
        if self._archives.is_of_another_place(archive_id):
            # Whoever looks next may see the place. It stays in Redis until somebody does.
            self._due.later(f"{ARCHIVE}{archive_id}", ELSEWHERE_MS)
            return
        try:
            self._archives.write(archive_id)
        except OSError as error:
            log.error("archive.failed", archive=archive_id, error=str(error))
            self._due.later(f"{ARCHIVE}{archive_id}", RETRY_MS)
