"""A time limit on a whole call, however many waits it is made of."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from openclaw_workers.errors import StoreUnavailable

T = TypeVar("T")


class _HelperThread(threading.Thread):
    """Makes calls for others, one at a time; kept for the next caller, because starting one costs more than a call."""

    def __init__(self) -> None:
        super().__init__(name="ocw-deadline", daemon=True)
        self.work: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()

    def run(self) -> None:
        while True:
            call, outcome = self.work.get()
            answer: tuple[Any, Exception | None]
            try:
                answer = call(), None
            except Exception as error:  # noqa: BLE001 - handed to the caller, who waits for it
                answer = None, error
            # Idle before it answers: the caller's next call finds this thread, instead of starting another.
            _idle.put(self)
            outcome.put(answer)
            del call, outcome, answer  # or the thread would keep them in memory until its next call


_idle: queue.SimpleQueue[_HelperThread] = queue.SimpleQueue()


def _idle_helper() -> _HelperThread:
    try:
        return _idle.get_nowait()
    except queue.Empty:
        helper = _HelperThread()
        helper.start()
        return helper


def within(seconds: float, call: Callable[[], T]) -> T:
    """Make the call, but wait no longer than this for it.

    A client's time-out is for each read, and one call may be a connection, a greeting and a script sent twice. The
    call goes on in the background, so it must be safe to repeat.

    Raises:
        StoreUnavailable: it took too long; what it does may still happen.
    """
    outcome: queue.SimpleQueue[tuple[T, Exception | None]] = queue.SimpleQueue()
    _idle_helper().work.put((call, outcome))
    try:
        value, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise StoreUnavailable(
            f"Redis did not answer within {seconds:g} s", hint="try again; a repeat with the same message id is safe"
        ) from None
    if error is not None:
        raise error
    return value
