"""Days that pass in a moment: Redis' clock, the process' clock and the expiry of keys move together."""

from __future__ import annotations

import time
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest
import redis

from openclaw_workers.engine.llm import selection
from openclaw_workers.engine.turn import reset_policy
from openclaw_workers.store import client, scripts
from tests.support.clock import Clock, shifted_connect, shifted_source

REAL_TIME = time.time


class MovedTime:
    """Made before the engine is, so that its connections use the moved clock."""

    def __init__(self, server: redis.Redis, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._server = server
        self._clock = Clock(server, file)
        self.seconds = 0
        monkeypatch.setattr(scripts, "script_source", shifted_source(scripts.script_source))
        connect = shifted_connect(client.connect, file)
        monkeypatch.setattr("openclaw_workers.engine.stores.connect", connect)
        monkeypatch.setattr(time, "time", self.now)
        for module in (selection, reset_policy):
            monkeypatch.setattr(module, "datetime", self._datetime())

    def now(self) -> float:
        return REAL_TIME() + self.seconds

    def advance(self, seconds: int) -> None:
        """Let time pass. A key that expires within it is gone."""
        self.seconds += seconds
        self._clock.set(self.seconds)
        keys: list[Any] = list(self._server.scan_iter(count=1_000))
        with self._server.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.pttl(key)
            left = pipe.execute()
            for key, milliseconds in zip(keys, left, strict=True):
                if milliseconds >= 0:
                    pipe.pexpire(key, milliseconds - seconds * 1000)  # one that is not positive deletes
            pipe.execute()

    def _datetime(self) -> type[datetime]:
        moved = self

        class Moved(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return datetime.fromtimestamp(moved.now(), tz)

        return Moved
