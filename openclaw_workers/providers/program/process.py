"""Run a program, stream its output, and end it when it is no longer needed."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack

from openclaw_workers.cancel import Cancel
from openclaw_workers.child_processes import ProcessExit, signal_group, stream_output
from openclaw_workers.config.models import CliAgentSettings
from openclaw_workers.errors import TurnAborted


class RunningProgram:
    """A running program. A separate thread reads its output, so that it can be streamed."""

    def __init__(self, process: subprocess.Popen[bytes], settings: CliAgentSettings, cancel: Cancel) -> None:
        self._process = process
        self._settings = settings
        self._cancel = cancel
        # Of its own, because the program also ends when the reader leaves, while the turn goes on.
        self._own = Cancel()
        self._chunks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._size_bytes = 0
        self._thread = threading.Thread(target=self._stream_output, name="cli-agent", daemon=True)
        self.ended = ProcessExit.BY_ITSELF
        self.too_much = False

    @property
    def status(self) -> int:
        return self._process.returncode or 0

    def __enter__(self) -> RunningProgram:
        self._stack = ExitStack()
        self._stack.enter_context(self._cancel.on_set(self._stop))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Also if the reader goes away in the middle: the program must not be left running.
        self._stop()
        self._thread.join()
        self._stack.close()

    def chunks(self) -> Iterator[bytes]:
        while (chunk := self._chunks.get()) is not None:
            yield chunk
        self._thread.join()

    def _stop(self) -> None:
        self._own.set(TurnAborted("the program is no longer needed"))

    def _stream_output(self) -> None:
        try:
            self.ended = stream_output(
                self._process,
                cancel=self._own,
                timeout_seconds=self._settings.timeout_seconds,
                on_output=self._take,
            )
        finally:
            # Whatever happens to the thread, `chunks` must not wait forever.
            self._chunks.put(None)

    def _take(self, chunk: bytes) -> None:
        self._size_bytes += len(chunk)
        if self._size_bytes > self._settings.max_output_bytes:
            self.too_much = True
            # The whole group: a program may have started others that write to the same output.
            signal_group(self._process, signal.SIGKILL)
        else:
            self._chunks.put(chunk)
