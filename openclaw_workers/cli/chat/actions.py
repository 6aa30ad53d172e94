"""What a person asks for is done in a thread of its own, so that the input stays alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from openclaw_workers.errors import OpenClawError

Report = Callable[[str, str | None], None]


class Actions:
    """Does one thing after the other, and reports what fails."""

    def __init__(self, report: Report) -> None:
        """`report` gets a message and a hint."""
        self._report = report
        self._waiting: queue.Queue[Callable[[], None] | None] = queue.Queue()
        # One thread for all, so that messages are sent in the order in which they were typed.
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def add(self, action: Callable[[], None]) -> None:
        self._waiting.put(action)

    def finish(self, seconds: float) -> bool:
        """Do what is left and end; False if it takes longer."""
        self._waiting.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while action := self._waiting.get():
            try:
                action()
            except OpenClawError as error:
                self._report(error.message, error.hint)
            except Exception as error:  # noqa: BLE001 - the next message is sent all the same
                self._report(f"unexpected {type(error).__name__}: {error}", "this is a bug in ocw")
