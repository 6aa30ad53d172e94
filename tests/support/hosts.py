"""Other hosts of a fleet: each has its own state directory and variables, and knows only where Redis is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from tests.support.fleet import Fleet, WorkerProcess
from tests.support.ocw import Done
from tests.support.warm import WarmProcess


class OtherHost:
    """A state directory without a configuration file."""

    def __init__(self, fleet: Fleet, name: str = "other", *, prefix: Sequence[str] = (), **env: str) -> None:
        """`prefix`: what enters the network of the host."""
        self._fleet = fleet
        self._prefix = prefix
        self.state_dir = fleet.directory / name
        self.state_dir.mkdir()
        shared = {key: value for key, value in fleet.environment().items() if key != "OPENCLAW_CONFIG"}
        own = {"OPENCLAW_STATE_DIR": str(self.state_dir), "HOME": str(self.state_dir)}
        self.env = {**shared, **own, **env}

    def worker(self, *options: str, lane: str = "main", concurrency: int = 4, wait: bool = True) -> WorkerProcess:
        """Start a worker; it ends with the fleet."""
        argv = ["worker", "--lane", lane, "--concurrency", str(concurrency), *options]
        log = self._fleet.directory / f"worker-{len(self._fleet.workers) + 1}.log"
        worker = WorkerProcess(argv, self.env, self.state_dir, log, respawn=False, prefix=self._prefix)
        self._fleet.workers.append(worker)
        if wait:
            self._fleet.ready(worker)
        return worker

    def ocw(self, *words: str, cwd: Path | None = None, within: float = 60) -> Done:
        with TemporaryFile("w+") as given, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
            done = WarmProcess(words, env=self.env, cwd=cwd or self.state_dir, files=[given, out, err])
            code = done.wait(within)
            out.seek(0)
            err.seek(0)
            return Done(code, out.read(), err.read())
