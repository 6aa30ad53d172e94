"""The one suspect of a worker process: a run whose last owner crashed (rule 5)."""

from __future__ import annotations

import threading
from collections import deque

from openclaw_workers.domain.ids import RunId, SessionKey


class Suspects:
    """A process runs one suspect at a time: if it crashes, only that run is to blame."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._suspect: RunId | None = None
        self._deferred: deque[tuple[SessionKey, RunId]] = deque()

    def reserve(self, run: RunId) -> bool:
        """Reserve the one place for a suspect; whoever gets it frees it.

        The same run may be delivered to two threads: the second one gets nothing, so that it has nothing to free.
        """
        with self._lock:
            if self._suspect is not None:
                return False
            self._suspect = run
            return True

    def free(self, run: RunId) -> tuple[SessionKey, RunId] | None:
        """Free the place, and return the next suspect that was turned away meanwhile."""
        with self._lock:
            if self._suspect != run:
                return None
            self._suspect = None
            return self._deferred.popleft() if self._deferred else None

    def defer(self, session: SessionKey, run: RunId) -> None:
        """Remember a suspect that was turned away."""
        with self._lock:
            if (session, run) not in self._deferred:
                self._deferred.append((session, run))
