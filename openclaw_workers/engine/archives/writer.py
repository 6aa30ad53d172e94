"""Writes archives to disk: transcripts of sessions that were reset or deleted, with results that came later.

The process that deletes a session writes its archive; the sweep writes all others. A Celery task would not do: a full
Redis takes no task, and writing archives is what frees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from openclaw_workers.clock import now_ms
from openclaw_workers.config.resolve import workspace_dir
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import Kind, classify, is_subagent
from openclaw_workers.engine.archives.transcript_files import append_entries, header_line, sessions_dir, transcript_name
from openclaw_workers.engine.tree.child_files import discard, files_dir
from openclaw_workers.errors import NotFound
from openclaw_workers.logger import get_logger
from openclaw_workers.state_dir import state_dir_id, state_dir_shown
from openclaw_workers.store.archives import Archive, Archives, Place
from openclaw_workers.store.memory_notes import MemoryNote, MemoryNotes

log = get_logger(__name__)

SAVED_TO_MEMORY = (Kind.MAIN, Kind.DM, Kind.GLOBAL, Kind.OTHER)
"""Conversations with one person. Groups, sub-agents and scheduled turns are not saved."""


class ArchiveWriter:
    """Writes into one state directory. Several processes may share that directory."""

    def __init__(
        self,
        archives: Archives,
        settings: Settings,
        state_dir: Path,
        notes: MemoryNotes | None = None,
        *,
        is_elsewhere: Callable[[str], bool] = lambda agent_id: False,
        on_written: Callable[[Archive], None] = lambda archive: None,
    ) -> None:
        """`notes` takes conversations that are to be saved to memory. `on_written` is called with each archive.

        `is_elsewhere`: whether the files of an agent are at a place that this host does not see. Its archives are
        written there.
        """
        self._is_elsewhere = is_elsewhere
        self._archives = archives
        self._notes = notes
        self._settings = settings
        self._state_dir = state_dir
        self._on_written = on_written

    @cached_property
    def place(self) -> Place:
        return Place(state_dir_id(self._state_dir), state_dir_shown(self._state_dir))

    @property
    def place_id(self) -> str:
        """ "" where the directory cannot be written: then nothing can wait for us."""
        try:
            return self.place.id
        except OSError as error:
            log.error("archive.directory_unusable", error=str(error))
            return ""

    def write(self, archive_id: str) -> Path | None:
        """Write an archive to disk, then delete it in Redis; None if another process writes it, or should.

        Raises:
            StoreUnavailable: what is not known to be on disk is still in Redis.
            OSError: the file cannot be written; all is still in Redis.
        """
        if self.is_of_another_place(archive_id):
            return None
        archive = self._archives.claim(archive_id, self.place)
        if archive is None:
            return None
        own = self._workspace(archive.agent_id)
        if archive.is_deleted and is_subagent(archive.session_key):
            discard(own / archive.workspace, files_dir(SessionKey(archive.session_key)))
        # Before anything is written: whoever dies in between leaves an archive that is written, and registered, again.
        self._register_note(archive)
        folder = sessions_dir(self._state_dir, archive.agent_id)
        path = folder / transcript_name(archive.session_id, archive.session_key)
        if not self._write_all(archive, path, header_line(archive.session_id, archive.started_at, str(own))):
            return None
        log.info("session.archived", sessionId=archive.session_id, sessionKey=archive.session_key, path=str(path))
        self._on_written(archive)
        return path

    def is_of_another_place(self, archive_id: str) -> bool:
        """Whether the archive is to be written where the files of its agent are, and that is not here."""
        agent_id = self._archives.agent_of(archive_id)
        return bool(agent_id) and self._is_elsewhere(agent_id)

    def _write_all(self, archive: Archive, path: Path, header: str) -> bool:
        """Part by part; False if somebody else writes it."""
        left: int | None = 1
        while left:
            entries = self._archives.part(archive)
            size: int | None = -1 if archive.size is None else archive.size
            if entries:
                size = append_entries(path, header, entries, confirmed=archive.size)
            if size is None:
                return False
            # Only now, with the file and its folder synced.
            left = self._archives.trim(archive, len(entries), size=size, place=self.place)
            archive = replace(archive, written=archive.written + len(entries), size=size if size >= 0 else None)
        return left == 0

    def _register_note(self, archive: Archive) -> None:
        wanted = self._settings.memory.session_notes and not archive.is_deleted
        if self._notes is not None and wanted and classify(archive.session_key) in SAVED_TO_MEMORY:
            key, agent = archive.session_key, archive.agent_id
            self._notes.register(MemoryNote(archive.session_id, key, agent, self.place.id, now_ms()))

    def _workspace(self, agent_id: str) -> Path:
        try:
            return workspace_dir(self._settings, agent_id, self._state_dir)
        except NotFound:  # it was taken out of the configuration; what its sessions said is kept all the same
            return self._state_dir / f"workspace-{agent_id}"
