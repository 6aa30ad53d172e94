"""How a worker process shuts down or is drained: it takes no turns, and hands over those it has at their next step."""

from __future__ import annotations

import time


class Shutdown:
    """Begins with a signal, with a stuck thread, or when Redis is away for too long, and ends with the grace."""

    def __init__(self, grace_seconds: float) -> None:
        self.grace_seconds = grace_seconds
        self._ends_at: float | None = None
        self._is_drained = False
        self.is_stuck = False
        """Some thread of this process no longer reacts, so the process must end."""

    @property
    def hands_over(self) -> bool:
        """It takes no turns, and hands over those that it has at their next step."""
        return self.has_begun or self._is_drained

    @property
    def has_begun(self) -> bool:
        return self._ends_at is not None

    def set_drained(self, is_drained: bool) -> None:
        """Somebody has drained this worker or its host, or undrained it. The process stays."""
        self._is_drained = is_drained

    def begin(self) -> None:
        """Turns are handed over at their next step, and cut short near the end of the grace."""
        # A second signal must not extend the grace.
        if self._ends_at is None:
            self._ends_at = time.monotonic() + self.grace_seconds

    def begin_stuck(self) -> None:
        """A thread is stuck for good: the process must end. Its other runs are handed over first."""
        self.is_stuck = True
        self.begin()

    def grace_left(self) -> float:
        return float("inf") if self._ends_at is None else self._ends_at - time.monotonic()

    def cuts_short(self) -> bool:
        """Whether turns end in the middle of a step, early enough to be handed over and their tokens counted."""
        return self.grace_left() < min(5.0, self.grace_seconds / 2)
