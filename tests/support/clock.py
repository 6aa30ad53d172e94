"""A clock of Redis that a test can set: all processes of the test see the server's TIME, shifted by one number.

The server is a real one, and so are the scripts. Only what TIME says is shifted, in scripts and for clients, since no
process can step the clock of its machine. A file holds the number for clients, a key holds it for scripts.
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
        """Put the clock so far ahead of the true one; one that is set to less than before steps back."""
        self._file.write_text(str(seconds))
        self._server.set(KEY, seconds)

    def environment(self) -> dict[str, Any]:
        """For workers that are to go by this clock."""
        path = os.pathsep.join([SHIFTED_CLOCK, *filter(None, [os.environ.get("PYTHONPATH")])])
        return {"PYTHONPATH": path, "OCW_CLOCK": str(self._file)}


def shifted_source(original: Callable[[str], tuple[str, str]]) -> Callable[[str], tuple[str, str]]:
    """In place of `connection.script_source`."""

    @cache
    def source(name: str) -> tuple[str, str]:
        text = SHIFTED + original(name)[0].replace('redis.call("TIME")', "shifted_time()")
        return text, sha1(text.encode(), usedforsecurity=False).hexdigest()

    return source


def shifted_connect(original: Callable[..., redis.Redis], file: Path) -> Callable[..., redis.Redis]:
    """In place of `connection.connect`."""

    def connect(*args: Any, **more: Any) -> redis.Redis:
        client = original(*args, **more)
        shift_times(client, file)
        return client

    return connect


def shift_times(client: redis.Redis, file: Path) -> None:
    """Have a client go by the clock."""
    client.set_response_callback("TIME", lambda told, **_: (int(told[0]) + int(file.read_text()), int(told[1])))
