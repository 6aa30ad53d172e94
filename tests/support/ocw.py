"""The `ocw` command in its own process, as a person or a script runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tests.support.fleet import Fleet
from tests.support.programs import call, execute
from tests.support.warm import WarmProcess


@dataclass(frozen=True, slots=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Ocw:
    """Runs `ocw` on a fleet's Redis and configuration."""

    def __init__(self, fleet: Fleet) -> None:
        hidden = ("OPENCLAW_", "REDIS_URL", "ANTHROPIC_", "OPENAI_", "NO_COLOR")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.env = {
            **inherited,
            "OPENCLAW_CONFIG": str(fleet.config_path),
            "OPENCLAW_STATE_DIR": str(fleet.state_dir),
            "REDIS_URL": fleet.redis_server.url,
            "PYTHONUNBUFFERED": "1",
        }

    def __call__(self, *words: str, stdin: str = "", within: float = 60, env: Mapping[str, str] | None = None) -> Done:
        # As in arguments, "\udce9" stands for the byte 0xe9, which is not UTF-8.
        stdin_file = TemporaryFile("w+", errors="surrogateescape")  # noqa: SIM115 - closed below
        with stdin_file as given, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
            given.write(stdin)
            given.seek(0)
            done = WarmProcess(words, env={**self.env, **(env or {})}, cwd=Path.cwd(), files=[given, out, err])
            try:
                code = done.wait(within)
            finally:
                if done.poll() is None:
                    os.killpg(done.pid, signal.SIGKILL)
            out.seek(0)
            err.seek(0)
            return Done(code, out.read(), err.read())

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start it and return at once; the caller reads its pipes."""
        return subprocess.Popen(
            self.argv(*words),
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Its own process group, so that a test's Ctrl-C reaches this process alone.
            start_new_session=True,
        )

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "openclaw_workers.cli.main", *words]


class Gate:
    """Keeps a turn busy in a tool call until the test opens the gate."""

    def __init__(self, fleet: Fleet, name: str) -> None:
        self._path = fleet.workspace / f"gate-{name}"

    @property
    def command(self) -> str:
        return f"while [ ! -e {self._path.name} ]; do sleep 0.05; done"

    @property
    def step(self) -> dict[str, Any]:
        return call(execute(self.command))

    def open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)  # before the first turn there is no workspace
        self._path.touch()


def finish(process: subprocess.Popen[str], within: float = 60) -> Done:
    """Read the rest of its output and wait until it ends."""
    assert process.stdout is not None
    assert process.stderr is not None
    overdue = threading.Timer(within, process.kill)
    overdue.start()
    try:
        out, err = process.stdout.read(), process.stderr.read()
        return Done(process.wait(), out, err)
    finally:
        overdue.cancel()
