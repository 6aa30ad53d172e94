"""A conversation that ended and is not saved to memory yet."""

from __future__ import annotations

from collections.abc import Callable

from openclaw_workers.engine.wake import Waker
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.keys import MEMORY_NOTE
from openclaw_workers.store.memory_notes import MemoryNotes

RETRY_MS = 30_000
NOT_ARCHIVED_MS = 1_000


class DueMemoryNotes:
    def __init__(self, due: DueItems, notes: MemoryNotes, waker: Waker, place_id: Callable[[], str]) -> None:
        self._due = due
        self._notes = notes
        self._waker = waker
        self._place_id = place_id

    def handle(self, session_id: str) -> None:
        """Have a service worker save it. Until it has, the note stays due."""
        item, note = f"{MEMORY_NOTE}{session_id}", self._notes.find(session_id)
        if note is None or note.is_done:
            self._due.done(item)
        elif not self._notes.is_archived(session_id):
            self._due.later(item, NOT_ARCHIVED_MS)
        else:
            # The transcript is on the disk of that place. Sweepers elsewhere only postpone the item.
            if note.place == self._place_id():
                self._waker.memory_note(session_id)
            self._due.later(item, RETRY_MS)
