"""Keeps a set of child processes running, and ends them in order."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Self

from openclaw_workers.cli.local.child import Backoff, Child
from openclaw_workers.cli.local.child_spec import ChildSpec
from openclaw_workers.cli.local.console import Console
from openclaw_workers.cli.local.start_program import adopt_orphans

SELF = "up"
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST_NAP_SECONDS = 1.0
_PROBE_EVERY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class StartFailure:
    """Which child did not come up, why, and the last lines it wrote."""

    name: str
    why: str
    tail: tuple[str, ...]


class Supervisor:
    """Runs in one thread; `_poll` handles output, deaths, restarts and signals.

    It is a context manager for the main thread, because it handles SIGINT, SIGTERM, SIGHUP and SIGCHLD. The first stop
    signal stops the children in order, the second one kills them; a closed terminal counts once, because both the
    kernel and the shell may report it. `on_change` is called when a pid has changed,
    `on_poll` once a second or more often while everything runs.
    """

    def __init__(
        self,
        console: Console,
        *,
        backoff: Backoff | None = None,
        on_change: Callable[[], object] = lambda: None,
        on_poll: Callable[[], object] = lambda: None,
        adopts: bool = False,
    ) -> None:
        """`adopts`: become the parent of descendants that lose theirs, and of forks of the fork server with that."""
        self._console = console
        self._backoff = backoff or Backoff()
        self._on_change = on_change
        self._on_poll = on_poll
        self._adopts = adopts
        self._children: dict[str, Child] = {}
        self._selector = selectors.DefaultSelector()
        self._stop_requests = 0
        self._is_stopping = False
        self._previous_handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._wake_read, wake_write = os.pipe()
        for fd in (self._wake_read, wake_write):
            os.set_blocking(fd, False)
        self._wake_write = wake_write
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        if self._adopts:
            adopt_orphans()
        # Python restarts `select` after a signal. A byte in this pipe makes it return.
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (*_STOP_SIGNALS, signal.SIGCHLD):
            if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup ocw up` ignores SIGHUP on purpose
                self._previous_handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        signal.set_wakeup_fd(-1)
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    @property
    def stop_requested(self) -> bool:
        return self._stop_requests > 0

    @property
    def pids(self) -> dict[str, int]:
        return {name: child.pid for name, child in self._children.items() if child.pid is not None}

    def start(self, spec: ChildSpec) -> None:
        """Launch a child and keep it running from now on."""
        child = self._children[spec.name] = Child(spec)
        self._launch(child)

    def drop(self, name: str) -> None:
        """Kill a child if it is alive, and forget it."""
        child = self._children.pop(name)
        if child.pid is not None:
            child.kill()
            self._collect(child)

    def wait_ready(self, names: Iterable[str], *, within_seconds: float) -> StartFailure | None:
        """Return None once all are ready or a stop is requested; otherwise the first failure."""
        waiting = set(names)
        deadline = time.monotonic() + within_seconds
        while not self.stop_requested:
            for child in [self._children[name] for name in sorted(waiting)]:
                self._probe(child)
                if child.serves:
                    waiting.remove(child.spec.name)
                elif child.has_failed_to_start:
                    return StartFailure(child.spec.name, "it keeps ending", tuple(child.tail))
            if not waiting:
                return None
            if time.monotonic() > deadline:
                late = self._children[min(waiting)]
                why = f"it was not ready within {within_seconds:g} s"
                return StartFailure(late.spec.name, why, tuple(late.tail))
            self._poll(_PROBE_EVERY_SECONDS)
        return None

    def run(self) -> None:
        """Keep the children running until a stop is requested."""
        while not self.stop_requested:
            starting = [child for child in self._children.values() if child.pid is not None and not child.serves]
            for child in starting:
                self._probe(child)
            self._poll(_PROBE_EVERY_SECONDS if starting else _LONGEST_NAP_SECONDS)
            self._on_poll()

    def stop(self) -> None:
        """Stop all children, lower ranks first. Another stop signal kills the rest at once."""
        self._is_stopping = True
        # If a signal has brought us here, only the next one means that somebody has lost patience.
        patience = 1 if self.stop_requested else 0
        if self.pids:
            longest = max(child.spec.stop_seconds for child in self._children.values())
            self.say(f"stop.requested withinSeconds={longest:g} (Ctrl-C again kills at once)")
        for child in self._children.values():
            child.restart_at = None
        # Redis comes last: workers write the state of their turns while they stop.
        for rank in sorted({child.spec.stop_rank for child in self._children.values()}):
            self._stop_rank([c for c in self._children.values() if c.spec.stop_rank == rank], patience)

    def say(self, text: str) -> None:
        self._console.line(SELF, text)

    def _stop_rank(self, children: list[Child], patience: int) -> None:
        for child in children:
            child.terminate()
        begun_at = time.monotonic()
        killed: set[str] = set()
        while alive := [child for child in children if child.pid is not None]:
            waited_seconds = time.monotonic() - begun_at
            is_hard = self._stop_requests > patience
            for child in alive:
                if child.spec.name in killed or not (is_hard or waited_seconds > child.spec.stop_seconds):
                    continue
                killed.add(child.spec.name)
                why = "asked twice" if is_hard else f"still there after {child.spec.stop_seconds:g} s"
                self.say(f"child.killed name={child.spec.name} why={why!r}")
                child.kill()
            self._poll(_PROBE_EVERY_SECONDS)

    # Only counts: a handler may interrupt any line, so the loop does the work.
    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._stop_requests = max(1, self._stop_requests)
        elif number != signal.SIGCHLD:
            self._stop_requests += 1

    def _poll(self, nap_seconds: float) -> None:
        """Wait for an event, then handle output, deaths and due restarts."""
        now = time.monotonic()
        due = [child.restart_at - now for child in self._children.values() if child.restart_at is not None]
        for key, _ in self._selector.select(max(0.0, min([nap_seconds, *due]))):
            if key.data is None:
                os.read(self._wake_read, 4096)
            else:
                self._pass_on(key.data)
        if self._adopts:
            self._reap_strangers()
        for child in list(self._children.values()):
            if child.has_exited():
                self._on_death(child)
            elif child.restart_at is not None and time.monotonic() >= child.restart_at:
                self._launch(child)

    def _reap_strangers(self) -> None:
        """Reap processes that are not of ours but lost their parent, such as what a killed worker had started."""
        ours = set(self.pids.values())
        with suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if ended.si_pid in ours:  # its turn comes; strangers behind it are reaped next time
                    return
                os.waitpid(ended.si_pid, 0)

    def _probe(self, child: Child) -> None:
        # In this order: another process may answer on the port of a child that has just died.
        if child.pid is not None and child.spec.is_ready(child.pid) and not child.has_exited():
            child.serves = child.has_served = True

    def _launch(self, child: Child) -> None:
        child.restart_at = None
        child.launched_at = time.monotonic()
        try:
            child.launch()
        except BlockingIOError:
            # Not a death: a child of an earlier `ocw up` that was killed is still closing its files.
            child.tail.append(f"an earlier process still holds {child.spec.lock_path}")
            child.restart_at = child.launched_at + self._backoff.first_seconds
            self.say(f"child.delayed name={child.spec.name} why={child.tail[-1]!r}")
        except OSError as error:
            child.tail.append(str(error))
            self._plan_restart(child, str(error))
        else:
            self._selector.register(child.output_fd, selectors.EVENT_READ, child)
            self.say(f"child.started name={child.spec.name} pid={child.pid}")
            self._on_change()

    def _pass_on(self, child: Child) -> bool:
        lines = child.read_lines()
        for line in lines or []:
            self._console.line(child.spec.name, line, is_shown=child.spec.is_shown)
        if lines is None:
            self._forget_output(child)
        return bool(lines)

    def _forget_output(self, child: Child) -> None:
        if child.output_fd in self._selector.get_map():
            self._selector.unregister(child.output_fd)

    def _collect(self, child: Child) -> str:
        # Its last lines, which may say why it died, are still in the pipe.
        while self._pass_on(child):
            continue
        self._forget_output(child)
        return child.reap()

    def _on_death(self, child: Child) -> None:
        how = self._collect(child)
        if self._is_stopping:
            return
        if not child.spec.is_shown and how.startswith("exit"):  # its last lines may say why
            for line in list(child.tail)[-5:]:
                self._console.line(child.spec.name, line)
        self._plan_restart(child, how)

    def _plan_restart(self, child: Child, why: str) -> None:
        now = time.monotonic()
        lived_seconds = now - child.launched_at
        is_healthy = lived_seconds >= self._backoff.healthy_seconds
        child.deaths_in_a_row = 1 if is_healthy else child.deaths_in_a_row + 1
        died = f"child.died name={child.spec.name} how={why!r} livedSeconds={lived_seconds:.1f}"
        # `wait_ready` reports it, and another attempt would fail in the same way.
        if child.has_failed_to_start:
            self.say(died)
        else:
            delay_seconds = self._backoff.delay_seconds(child.deaths_in_a_row)
            child.restart_at = now + delay_seconds
            self.say(f"{died} restartInSeconds={delay_seconds:g}")
        self._on_change()
