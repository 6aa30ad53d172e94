"""A time limit on a whole call, however many waits it is made of."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from openclaw_workers.errors import StoreUnavailable

T = TypeVar("T")


def within(seconds: float, call: Callable[[], T]) -> T:
    """Make the call, but wait no longer than this for it.

    A client's time-out is for each read, and one call may be a connection, a greeting and a script sent twice. The
    call goes on in the background, so it must be safe to repeat.

    Raises:
        StoreUnavailable: it took too long; what it does may still happen.
    """
    outcome: queue.SimpleQueue[tuple[T, None] | tuple[None, Exception]] = queue.SimpleQueue()

    def make() -> None:
        try:
            outcome.put((call(), None))
        except Exception as error:  # noqa: BLE001 - handed to the caller, who waits for it
            outcome.put((None, error))

    threading.Thread(target=make, name="ocw-within", daemon=True).start()
    try:
        value, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise StoreUnavailable(
            f"Redis did not answer within {seconds:g} s", hint="try again; a repeat with the same message id is safe"
        ) from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]
