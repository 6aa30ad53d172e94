"""A Redis clock that a test can set: all processes of the test see the server's TIME plus an offset.

Server and scripts are real. Only the answer of TIME is shifted, for scripts and for clients, because a test cannot set
the clock of its machine. A file holds the offset for clients, a key holds it for scripts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import Any

import redis

SHIFTED_CLOCK = str(Path(__file__).parent / "shifted_clock")
KEY = "test-clock-seconds"
SHIFTED = f"""
local function shifted_time()
  local t = redis.call("TIME")
  return {{ t[1] + (tonumber(redis.call("GET", "{KEY}")) or 0), t[2] }}
end
"""


class Clock:
    def __init__(self, server: redis.Redis, file: Path) -> None:
        self._server = server
        self._file = file
        self.set(0)

    def set(self, seconds: int) -> None:
        """Set the offset from the real clock. A smaller offset than before is a step back."""
        self._file.write_text(str(seconds))
        self._server.set(KEY, seconds)

    def environment(self) -> dict[str, Any]:
        """The environment of workers that use this clock."""
        path = os.pathsep.join([SHIFTED_CLOCK, *filter(None, [os.environ.get("PYTHONPATH")])])
        return {"PYTHONPATH": path, "OCW_CLOCK": str(self._file)}


def shifted_source(original: Callable[[str], tuple[str, str]]) -> Callable[[str], tuple[str, str]]:
    """A replacement for `scripts.script_source`."""

    @cache
    def source(name: str) -> tuple[str, str]:
        text = SHIFTED + original(name)[0].replace('redis.call("TIME")', "shifted_time()")
        return text, sha1(text.encode(), usedforsecurity=False).hexdigest()

    return source


def shifted_connect(original: Callable[..., redis.Redis], file: Path) -> Callable[..., redis.Redis]:
    """A replacement for `client.connect`."""

    def connect(*args: Any, **more: Any) -> redis.Redis:
        client = original(*args, **more)
        shift_times(client, file)
        return client

    return connect


def shift_times(client: redis.Redis, file: Path) -> None:
    """Make a client use the shifted clock."""
    client.set_response_callback("TIME", lambda time, **_: (int(time[0]) + int(file.read_text()), int(time[1])))
