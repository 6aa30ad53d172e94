"""A thread that sends a steady stream of messages, like an ingress: it retries a refused message."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import new_message_id
from openclaw_workers.errors import StoreUnavailable
from tests.support.fleet import Fleet
from tests.support.programs import Program
from tests.support.waiting import eventually


class Load(threading.Thread):
    """Sends until the `with` block ends; `sent` are the messages that were accepted."""

    def __init__(
        self, fleet: Fleet, message: Callable[[int], Program], *, sessions: int, pause_seconds: float = 0.01
    ) -> None:
        super().__init__(name="load", daemon=True)
        self._fleet = fleet
        self._message = message
        self._sessions = sessions
        self._pause = pause_seconds
        self._over = threading.Event()
        self.sent: list[Queued] = []
        self.refusals_seconds: list[float] = []
        """How long each refused accept took."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self.join(60)
        assert not self.is_alive(), "an accept hangs"

    def run(self) -> None:
        number = 0
        while not self._over.wait(self._pause):
            self._accept(self._message(number), f"s{number % self._sessions}")
            number += 1

    def more(self, count: int, *, within: float = 60) -> None:
        """Wait until `count` more messages have been accepted."""
        target = len(self.sent) + count
        eventually(lambda: len(self.sent) >= target, within=within)

    def _accept(self, message: Program, session: str) -> None:
        message_id = new_message_id()
        while True:
            begun = time.monotonic()
            try:
                self.sent.append(self._fleet.send(message, session, message_id=message_id))
            except StoreUnavailable:
                self.refusals_seconds.append(time.monotonic() - begun)
                if self._over.wait(self._pause):
                    return
            else:
                return
