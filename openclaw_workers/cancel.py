"""The stop signal of a running turn: one flag that model calls, tools and the agent loop all watch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancel:
    """Any thread may set it, once, with the error that says why. Nobody clears it.

    The first reason wins: a turn that a person stopped does not become a hand-over later.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._reason: Exception | None = None
        self._callbacks: list[Callable[[], object]] = []

    def set(self, reason: Exception) -> None:
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        self._event.set()
        for callback in callbacks:
            callback()

    @property
    def reason(self) -> Exception | None:
        return self._reason

    def check(self) -> None:
        """Raise the reason if the flag is set.

        Raises:
            TurnEnded: the turn was stopped, timed out or is being handed over.
            LeaseLost: another worker owns the session now.
        """
        if self._reason is not None:
            raise self._reason

    def wait(self, seconds: float) -> None:
        """Sleep until the time is up or the flag is set; then do what `check` does."""
        self._event.wait(seconds)
        self.check()

    @contextmanager
    def on_set(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` if the flag is set while the block runs, for example to close a socket."""
        with self._lock:
            already = self._reason is not None
            if not already:
                self._callbacks.append(callback)
        if already:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)
