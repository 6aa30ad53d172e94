"""Which server wrote the data of a state directory, and which servers can read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from openclaw_workers.cli.local.redis_binary import WHEEL, RedisBinary
from openclaw_workers.errors import BadInput
from openclaw_workers.state_dir import write_private

FILE = "server.json"
_DATA = ("appendonlydir", "appendonly.aof")

#: The last version of Redis whose files Valkey reads, and the first of Valkey whose files no Redis reads.
_LAST_COMMON_REDIS = (7, 2)
_FIRST_OWN_VALKEY = (9, 0)


def choose_server(folder: Path, servers: Sequence[RedisBinary]) -> RedisBinary:
    """The first of these servers that can read the data in a folder; the first of all if it is not known who wrote it.

    Raises:
        BadInput: none of them can.
    """
    writer = _writer_of(folder)
    if writer is None:
        return servers[0]
    for server in servers:
        if can_read(server, writer):
            return server
    how = f" (`pip install {WHEEL}`)" if writer.product == "Valkey" else ""
    raise BadInput(
        f"the data in {folder} was written by {writer.product} {_shown(writer)}, which "
        f"{' and '.join(map(str, servers))} cannot read",
        hint=f"install {writer.product} {_shown(writer)} or later{how}, or start with another --state-dir",
    )


def can_read(server: RedisBinary, writer: RedisBinary) -> bool:
    """Whether a server reads what another one wrote."""
    if server.product == writer.product:
        # Patch versions do not change the format of the files, and every version reads older ones.
        return server.version[:2] >= writer.version[:2]
    if server.product == "Valkey":
        return writer.version[:2] <= _LAST_COMMON_REDIS
    return writer.version[:2] < _FIRST_OWN_VALKEY and server.version[:2] >= _LAST_COMMON_REDIS


def record_writer(folder: Path, server: RedisBinary) -> None:
    """Note who writes here from now on."""
    noted = {"product": server.product, "version": list(server.version), "path": str(server.path)}
    write_private(folder / FILE, json.dumps(noted) + "\n")


def _writer_of(folder: Path) -> RedisBinary | None:
    if not any((folder / name).exists() for name in _DATA):
        return None
    try:
        noted = json.loads((folder / FILE).read_bytes())
        return RedisBinary(Path(noted["path"]), tuple(map(int, noted["version"])), str(noted["product"]))
    except (OSError, ValueError, KeyError, TypeError):  # a directory of an earlier version has no such note
        return None


def _shown(server: RedisBinary) -> str:
    return ".".join(map(str, server.version))
