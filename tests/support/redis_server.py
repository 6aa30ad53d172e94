"""A Redis server for one test: free port, own directory, and ways to kill and freeze it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from openclaw_workers.cli.local.redis_binary import find_redis_server
from tests.support.waiting import eventually

IN_MEMORY = Path("/dev/shm")
"""Files here survive a killed process, as on a disk, but a sync never waits for a busy disk."""


class RedisServer:
    """Started on entry, killed on exit; `restart` continues with the same port and data."""

    def __init__(
        self, *, aof: bool = False, directory: Path | None = None, addresses: Sequence[str] = ("127.0.0.1",)
    ) -> None:
        self._aof = aof
        self._addresses = addresses
        self._temporary = _temporary_directory() if directory is None else None
        self.directory = directory or Path(self._temporary.name if self._temporary else "")
        self.port = free_port()
        self._binary = find_redis_server().path
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was not started"
        return self._process.pid

    def client(self, **options: Any) -> redis.Redis:
        """A new client; it decodes replies to text unless the options say otherwise."""
        return redis.Redis.from_url(self.url, **{"decode_responses": True, **options})

    def start(self) -> None:
        """Start, and wait until it has loaded its data and answers."""
        was_used = (self.directory / "appendonlydir").exists()
        settings = {
            "port": str(self.port),
            "bind": " ".join(self._addresses),
            "protected-mode": "yes" if len(self._addresses) == 1 else "no",
            "dir": str(self.directory),
            "save": "",
            "appendonly": "yes" if self._aof else "no",
            "appendfsync": "always",
            "maxmemory-policy": "noeviction",
        }
        arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
        with (self.directory / "redis.log").open("ab") as log:
            self._process = subprocess.Popen([self._binary, *arguments], stdout=log, stderr=log)
        eventually(self._answers, within=30)
        if self._aof and was_used:
            self._rewrite()

    def kill(self) -> None:
        """End it with SIGKILL; does nothing if it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End it, and delete its data unless it was given a directory."""
        self.kill()
        if self._temporary is not None:
            self._temporary.cleanup()

    def stop(self) -> None:
        """Freeze it: connections stay open, nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def cont(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """Kill it if it still runs, and start it again on the same port and data."""
        self.kill()
        self.start()

    def _rewrite(self) -> None:
        """Rewrite the AOF, as `ocw up` does after each start of its Redis; cli/local/private_redis.py says why."""
        with self.client() as client:
            client.bgrewriteaof()
            eventually(lambda: is_rewritten(client), within=30)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "redis.log").read_text()
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.ConnectionError:  # includes BusyLoadingError
            return False


def _temporary_directory() -> tempfile.TemporaryDirectory[str]:
    place = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="ocw-redis-", dir=place)


def is_rewritten(client: redis.Redis) -> bool:
    """Whether no rewrite of the append-only file is running or scheduled."""
    info = client.info("persistence")
    return not (info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])


def journal_of(directory: Path) -> Path:
    """The append-only file that a server writes to: one of several from Redis 7 on."""
    return max((directory / "appendonlydir").glob("*.incr.aof"), default=directory / "appendonly.aof")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
