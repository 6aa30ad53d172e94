"""Runs the functions of plugins, so that one that hangs or crashes costs its own call and nothing else.

A plain function runs in a thread of its own. Coroutines share one event loop in one thread, so that clients and pools
which belong to a loop serve many calls. Threads start with the first call, after any fork.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from openclaw_workers.errors import ToolError


class FunctionRunner:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start_thread(self, name: str, function: Callable[[], Any]) -> Future[Any]:
        """Call a plain function. Nobody can end it before it returns."""
        future: Future[Any] = Future()
        # From now on `cancel` returns False: a thread cannot be ended from outside.
        future.set_running_or_notify_cancel()
        # Keeps the ids of the run in the log lines of the function.
        context = copy_context()

        def work() -> None:
            try:
                future.set_result(context.run(function))
            except Exception as error:  # noqa: BLE001 - raised where the result is awaited
                future.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - such as SystemExit, which must not end the worker
                future.set_exception(ToolError(f"{name} ended with {type(error).__name__}: {error}"))

        threading.Thread(target=work, name=f"ocw-plugin-{name}", daemon=True).start()
        return future

    def start_coroutine(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="ocw-plugins", daemon=True).start()
            return self._loop
