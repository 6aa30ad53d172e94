"""Wait for work that another thread does: no longer than a limit, and only while the turn goes on."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TypeVar

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolTimedOut

ResultT = TypeVar("ResultT")


def wait_for_result(future: Future[ResultT], cancel: Cancel, *, seconds: float, name: str) -> ResultT:
    """The result of the work, which is cancelled if the time is up or the turn ends.

    Raises:
        ToolTimedOut: the time is up.
        TurnEnded, LeaseLost: the turn ended meanwhile.
        Exception: whatever the work raised.
    """
    over = threading.Event()
    future.add_done_callback(lambda _: over.set())
    with cancel.on_set(over.set):
        over.wait(seconds)
    if future.done() and not future.cancelled():
        return future.result()
    # Before the check, which raises if the turn was stopped: the work must end in that case too.
    future.cancel()
    cancel.check()
    raise ToolTimedOut(f"{name} did not answer within {seconds:g} seconds")
