"""Processes that start fast: forked from a parent that has imported everything.

A short-lived process spends most of its time on imports. One parent per test process does them once. Each fork gets its
own session, environment, directory and files, and runs `ocw` from `main` on. Where `ocw` would `exec` Celery, the fork
runs Celery itself. The parent imports nothing that depends on the environment.
"""

from __future__ import annotations

import atexit
import gc
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pickle import dumps, loads
from typing import IO, Any, NoReturn

import ingress
import openclaw_workers

LIBRARIES = ("anthropic", "openai", "celery.bin.celery", "celery.apps.worker", "celery.concurrency.thread", "redis")
COLD = tuple(f"openclaw_workers.tasks.{name}" for name in ("celery_settings", "signals", "turn", "service", "worker"))
"""Each process imports these itself: they read its environment, hold shared memory, or import a module that does."""
_LENGTH = struct.Struct("!I")


class WarmProcess:
    """A forked process; as much of subprocess.Popen as the fleet needs."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, files: Sequence[IO[Any]]) -> None:
        self.returncode: int | None = None
        self._lock = threading.Lock()
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(_parent())
        order = dumps((list(argv), dict(env), str(cwd)))
        socket.send_fds(self._line, [_LENGTH.pack(len(order))], [file.fileno() for file in files])
        self._line.sendall(order)
        self.pid: int = _LENGTH.unpack(self._line.recv(_LENGTH.size, socket.MSG_WAITALL))[0]

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and self._has_ended(timeout):
            with self._lock:  # several threads may wait; the socket stays readable once the process has ended
                if self.returncode is None:
                    status = self._line.recv(_LENGTH.size, socket.MSG_WAITALL)
                    self.returncode = os.waitstatus_to_exitcode(_LENGTH.unpack(status)[0] if status else signal.SIGKILL)
        return self.returncode

    def _has_ended(self, timeout: float | None) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._line, selectors.EVENT_READ)
            return bool(selector.select(timeout))


_parents: dict[int, tuple[subprocess.Popen[bytes], str]] = {}


def _parent() -> str:
    """The address of this process' own parent for forks; it ends with this process."""
    if os.getpid() not in _parents:
        name = f"ocw-warm-{os.getpid()}"
        argv = [sys.executable, "-m", "tests.support.warm", name]
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdout is not None
        assert child.stdout.readline() == b"warm\n"
        _parents[os.getpid()] = child, f"\0{name}"
    return _parents[os.getpid()][1]


def import_all() -> None:
    for name in LIBRARIES:
        import_module(name)
    packages = [*pkgutil.walk_packages(openclaw_workers.__path__, "openclaw_workers.")]
    packages += pkgutil.walk_packages(ingress.__path__, "ingress.")
    for module in packages:
        if not module.name.startswith(COLD) and not module.name.endswith(".__main__"):  # those run programs
            import_module(module.name)
    assert not sys.modules.keys() & set(COLD)
    assert not sys.modules["openclaw_workers.tasks.app"].app.configured


def serve(name: str) -> Callable[[], NoReturn]:
    """Fork a process for each request. Returns only in the fork, with the function it has to run."""
    listener = socket.create_server(f"\0{name}", family=socket.AF_UNIX, backlog=64)
    exits, notify = socket.socketpair()
    notify.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(notify.fileno(), warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    os.write(1, b"warm\n")
    while True:
        ready, _, _ = select.select([listener, exits, sys.stdin], [], [])
        if exits in ready:
            exits.recv(4096)
            _reap(running)
        if listener in ready:
            line, _ = listener.accept()
            size, files, _, _ = socket.recv_fds(line, _LENGTH.size, 3)
            order = loads(line.recv(_LENGTH.unpack(size)[0], socket.MSG_WAITALL))
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                for other in (listener, exits, notify, line, *running.values()):
                    other.close()
                argv, env, cwd = order
                return lambda: _run(argv, env, cwd, files)
            for file in files:
                os.close(file)
            running[pid] = line
            line.sendall(_LENGTH.pack(pid))
        if sys.stdin in ready:
            os._exit(0)


def _reap(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as line:
            try:
                line.sendall(_LENGTH.pack(status))
            except BrokenPipeError:
                continue  # the process that started it does not wait for it


def _run(argv: list[str], env: dict[str, str], cwd: str, files: list[int]) -> NoReturn:
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, file in enumerate(files):  # stdin, stdout, stderr
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.execv = _become_celery  # type: ignore[assignment]
    sys.argv = ["ocw", *argv]
    _leave(_code_of(import_module("openclaw_workers.cli.main").main))


def _code_of(main: Callable[[], object]) -> int:
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(ended.code)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - the interpreter's own last resort
        traceback.print_exc()
        return 1
    return 0


def _leave(code: int) -> NoReturn:
    """End like an interpreter, without tearing down every module, which takes as long as importing them."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _become_celery(_path: str, argv: list[str]) -> NoReturn:
    assert argv[1:4] == ["-P", "-m", "openclaw_workers.tasks"], argv
    sys.argv = ["celery", *argv[4:]]
    runpy.run_module(argv[3], run_name="__main__", alter_sys=True)
    sys.exit(0)


if __name__ == "__main__":
    import_all()
    gc.freeze()  # otherwise each garbage collection in a fork would copy the pages it visits
    serve(sys.argv[1])()
