"""Wake-ups that stay in this process, for a test to carry."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.domain.ids import BatchId, RunId, SessionKey


class LocalWaker:
    """Implements `Waker`."""

    def __init__(self) -> None:
        self.turns: list[tuple[SessionKey, RunId]] = []

    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        self.turns.append((session, run))
        return True

    def wake_text(self, session: SessionKey, run: RunId) -> str:
        return ""

    def chord(self, batch: BatchId, headers: Sequence[tuple[SessionKey, RunId]]) -> bool:
        self.turns += headers
        return True

    def header(self, session: SessionKey, run: RunId, batch: BatchId, index: int) -> bool:
        return self.turn(session, run)

    def forget_chord(self, batch: BatchId) -> None:
        """There is none here."""

    def memory_note(self, session_id: str) -> bool:
        return True

    def oldest_ms(self, session: SessionKey) -> int:
        return 0
