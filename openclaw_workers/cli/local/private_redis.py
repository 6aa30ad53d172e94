"""The private Redis of `ocw up`: its settings and its process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import redis

from openclaw_workers.cli.local.child_spec import ChildSpec
from openclaw_workers.cli.local.redis_binary import RedisBinary
from openclaw_workers.cli.local.redis_data_version import record_writer
from openclaw_workers.cli.local.redis_start_errors import refuse_to_start_empty
from openclaw_workers.cli.local.saved_endpoint import LOOPBACK, SavedEndpoint
from openclaw_workers.state_dir import not_ours, write_private

NAME = "redis"
DEFAULT_PORT = 6379

#: The reasons are in deploy/redis.conf, which sets the same values; a test compares the two.
SETTINGS: Mapping[str, str] = {
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "aof-load-truncated": "yes",
    "save": '""',
    "maxmemory-policy": "noeviction",
    "protected-mode": "yes",
    "tcp-keepalive": "60",
    "timeout": "0",
    # Records stay small: a hash with longer values takes twice the memory. The old name is known to all versions.
    "hash-max-ziplist-value": "512",
}

HEADER = "# Written by `ocw up` at each start; changes are lost."
"""The first line of our configuration. A file that begins otherwise is another's and is not replaced."""

_WITHOUT_HEADER = "appendonly yes\nappendfsync always\n"
"""How state directories that were made before the header begin theirs."""

_OWN_STAMP = re.compile(r"^\d+:[A-Z] \d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3} ")
_IN_USE = re.compile(r"address already in use", re.I)


def url_of(endpoint: SavedEndpoint) -> str:
    return f"redis://:{endpoint.password}@{LOOPBACK}:{endpoint.port}/0"


def redis_spec(binary: RedisBinary, state_dir: Path, endpoint: SavedEndpoint, env: Mapping[str, str]) -> ChildSpec:
    """Write the configuration and describe the process.

    Raises:
        BadInput: `binary` would not find the existing data and would start empty, or another program wrote the file.
    """
    folder = state_dir / "redis"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "redis.conf"
    if path.exists() and not path.read_bytes().startswith((HEADER.encode(), _WITHOUT_HEADER.encode())):
        raise not_ours(path)
    refuse_to_start_empty(folder, binary)
    own = {
        "bind": LOOPBACK,
        "port": str(endpoint.port),
        "requirepass": endpoint.password,
        "dir": _quoted(folder),
        "daemonize": "no",
        "always-show-logo": "no",
    }
    lines = [HEADER, *(f"{name} {value}" for name, value in {**SETTINGS, **own}.items())]
    # In a file, not on the command line: the password must not show in `ps`.
    write_private(path, "\n".join(lines) + "\n")
    record_writer(folder, binary)
    return ChildSpec(
        name=NAME,
        argv=(str(binary.path), str(path)),
        env=env,
        is_ready=lambda _pid: is_ready(url_of(endpoint)),
        stop_rank=2,
        stop_seconds=20.0,
        start_attempts=1,
        is_shown=False,
        clean=lambda line: _OWN_STAMP.sub("", line),
        lock_path=folder / "redis.lock",
    )


def answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError, ValueError):
        return False


def is_ready(url: str) -> bool:
    """Whether the server answers; if so, a rewrite of its file has been started."""
    if not answers(url):
        return False
    rewrite_aof(url)
    return True


def rewrite_aof(url: str) -> None:
    """Start a rewrite of the append-only file, to remove half a transaction that a crash may have left in it.

    A Redis killed during a write drops that transaction at its next start, but the beginning stays in the file. At the
    start after that, Redis runs it together with the next transaction: an answer that was committed again in between
    would be there twice.
    """
    with suppress(redis.RedisError), redis.Redis.from_url(url, socket_timeout=1) as client:
        client.bgrewriteaof()


def port_was_taken(tail: tuple[str, ...]) -> bool:
    return any(_IN_USE.search(line) for line in tail)


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
