"""One `ocw ingress` beside a fleet, in a process group of its own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import TracebackType
from typing import Self

from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.ingresses import Ingresses
from openclaw_workers.store.tokens import Tokens
from tests.support.fleet import Fleet
from tests.support.waiting import eventually
from tests.support.warm import WarmProcess


class IngressProcess:
    """Starts with the block and is ready; ends with it."""

    def __init__(self, fleet: Fleet, *, name: str = "ingress") -> None:
        self._fleet = fleet
        self._log = fleet.directory / f"{name}.log"

    def __enter__(self) -> Self:
        fleet = self._fleet
        known = {info.id for info in self._ingresses.all()}
        argv = ["--config", str(fleet.config_path), "--state-dir", str(fleet.state_dir), "ingress", "--port", "0"]
        with self._log.open("ab") as log, open(os.devnull, "rb") as nothing:
            env = fleet.environment()
            self._process = WarmProcess(argv, env=env, cwd=fleet.state_dir, files=[nothing, log, log])
        self.url = eventually(lambda: self._new_url(known), within=60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._process.wait(30)

    @property
    def _ingresses(self) -> Ingresses:
        return Ingresses(self._fleet.stores.redis, self._fleet.stores.keys)

    def token(self, scope: Scope = Scope.ADMIN, *, agent: str | None = None) -> str:
        return Tokens(self._fleet.stores.redis, self._fleet.stores.keys).create(scope, agent=agent)[1]

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def term(self) -> int:
        """Stop it in order, and return its exit code."""
        os.kill(self._process.pid, signal.SIGTERM)
        return self._process.wait(30)

    def log_text(self) -> str:
        return self._log.read_text(errors="replace")

    def _new_url(self, known: set[str]) -> str | None:
        assert self._process.poll() is None, f"the ingress ended by itself:\n{self.log_text()}"
        return next((info.url for info in self._ingresses.all() if info.id not in known), None)
