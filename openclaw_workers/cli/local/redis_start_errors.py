"""Why the private Redis did not start or must not start, and what to do next."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from openclaw_workers.cli.local.redis_binary import RedisBinary
from openclaw_workers.errors import BadInput, OpenClawError, TransientError

MANIFEST = "appendonly.aof.manifest"

#: 7.0 moved the append-only file into a folder that 6.2 does not look into.
_FOLDER_SINCE = (7, 0)
_DAMAGED_LOG = re.compile(
    r"bad file format|unexpected end of file|wrong signature|unknown command .* append only", re.I
)
_DAMAGED_SNAPSHOT = re.compile(
    r"can't handle rdb|short read|wrong rdb|error in rdb|rdb error|error reading the rdb|rdb file reading failure", re.I
)
_DAMAGED_SET = re.compile(r"aof manifest|unable to obtain the aof file", re.I)
#: Redis trusts what it has written, and some damage makes it crash instead of complaining.
_CRASHED = re.compile(r"(redis|valkey) bug report", re.I)
_DATA_FILE = re.compile(r"\bappendonly\.aof[\w.]*\b")


def refuse_to_start_empty(folder: Path, binary: RedisBinary) -> None:
    """Check that this server would find the existing data.

    Raises:
        BadInput: it would not find it, and would silently start empty.
    """
    kept = folder / "appendonlydir"
    if binary.version < _FOLDER_SINCE and kept.exists():
        raise BadInput(
            f"the data in {folder} was written by Redis 7 or later; {binary.path} is "
            f"{'.'.join(map(str, binary.version))} and would start empty",
            hint="install the later redis-server again, or move that folder away to start empty",
        )
    if not (kept / MANIFEST).exists() and (orphans := _written(kept)):
        raise BadInput(
            f"the Redis data in {folder} is damaged: {kept / MANIFEST} is missing, and without it Redis would start "
            f"empty beside {', '.join(orphans)}",
            hint=_from_a_copy(folder),
        )


def _written(kept: Path) -> list[str]:
    # An interrupted first start leaves an empty snapshot and an empty file, which must not block the second start.
    files = (path for path in kept.glob("appendonly.aof*") if not path.name.endswith(".1.base.rdb"))
    return sorted(path.name for path in files if path.stat().st_size)


def explain(tail: tuple[str, ...], state_dir: Path, binary: RedisBinary, why: str) -> OpenClawError:
    """An error from the last log lines of a Redis that did not start, with what to do next."""
    folder = state_dir / "redis"
    last = _plain(tail[-1]) if tail else why
    if "ermission denied" in " ".join(tail):
        return BadInput(
            f"Redis may not read or write its data in {folder}: {last}",
            hint="give the folder to the user who runs `ocw up`, or choose another --state-dir",
        )
    if line := _first(_DAMAGED_SNAPSHOT, tail):
        return _damaged(folder, _named_in(tail), line, _from_a_copy(folder))
    if line := _first(_DAMAGED_LOG, tail):
        return _damaged(folder, name := _named_in((line,)), line, _repair(folder, binary, name))
    if line := _first(_DAMAGED_SET, tail):
        return _damaged(folder, _named_in((line,)) or MANIFEST, last, _from_a_copy(folder))
    if _first(_CRASHED, tail):
        what = f"Redis crashes when it reads them; {state_dir / 'logs' / 'redis.log'} has its report"
        return _damaged(folder, _named_in(tail), what, _from_a_copy(folder))
    return TransientError(f"Redis did not start: {last}", hint=f"see {state_dir / 'logs' / 'redis.log'}")


def _damaged(folder: Path, name: str | None, what: str, hint: str) -> BadInput:
    # Redis 6.2 keeps its one file in the folder itself.
    found = next(folder.rglob(name), folder / "appendonlydir" / name) if name else folder
    return BadInput(f"the Redis data is damaged: {found}: {_plain(what)}", hint=hint)


def _from_a_copy(folder: Path) -> str:
    place = shlex.quote(str(folder))
    return f"put back a copy of {place}; or `mv {place} {shlex.quote(f'{folder}.damaged')}` and start empty"


def _first(pattern: re.Pattern[str], tail: tuple[str, ...]) -> str | None:
    return next((line for line in tail if pattern.search(line)), None)


def _named_in(tail: tuple[str, ...]) -> str | None:
    """The data file that the lines name last."""
    names = [name for line in tail for name in _DATA_FILE.findall(line)]
    return names[-1] if names else None


def _plain(line: str) -> str:
    return line.lstrip("*#.- ")


def _repair(folder: Path, binary: RedisBinary, name: str | None) -> str:
    if name and name.endswith(".rdb"):  # the tool would empty it
        return _from_a_copy(folder)
    return f"copy {folder}, then try `{_repair_command(folder, binary)}`; or move it away to start empty"


def _repair_command(folder: Path, binary: RedisBinary) -> str:
    manifests = sorted(folder.glob("appendonlydir/*.manifest"))
    damaged = shlex.quote(str(manifests[0] if manifests else folder / "appendonly.aof"))
    name = f"{binary.product.lower()}-check-aof"
    tool = binary.path.with_name(name)
    if os.access(tool, os.X_OK):
        return f"{shlex.quote(str(tool))} --fix {damaged}"
    # The server binary is also the repair tool if it is started under that name.
    return shlex.join(["bash", "-c", f"exec -a {name} {shlex.quote(str(binary.path))} --fix {damaged}"])
