"""Limits by cgroups, where this process may make some: in version 2, or in the controllers of version 1."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.sandbox.limits import Limits

_PARENT = "openclaw-workers"
_CONTROLLERS = ("memory", "pids")


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Directories below which a cgroup can be made for each command."""

    parents: tuple[Path, ...]
    version: int

    def create(self, limits: Limits) -> list[str]:
        """A new cgroup with these limits.

        Raises:
            OSError: the system refuses it.
        """
        name = secrets.token_hex(8)
        made = []
        for parent in self.parents:
            directory = parent / name
            directory.mkdir()
            made.append(str(directory))
            _set_limits(directory, limits, self.version)
        return made


def _set_limits(directory: Path, limits: Limits, version: int) -> None:
    memory = str(limits.memory_bytes)
    wanted = {"pids.max": str(limits.processes)}
    if version == 2:
        wanted |= {"memory.max": memory, "memory.swap.max": "0", "memory.oom.group": "1"}
    else:
        wanted |= {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}
    for name, value in wanted.items():
        # A kernel without swap accounting has no file for it.
        if (directory / name).exists():
            (directory / name).write_text(value, encoding="ascii")


def find_cgroups(root: Path = Path("/sys/fs/cgroup")) -> Cgroups | None:
    """Cgroups that limit memory and processes; None if this process may make none. Found by making one."""
    with suppress(OSError):
        found = _version_2(root) if (root / "cgroup.controllers").exists() else _version_1(root)
        if found is None:
            return None
        for directory in found.create(Limits()):
            os.rmdir(directory)
        return found
    return None


def _version_2(root: Path) -> Cgroups | None:
    parent = root / _PARENT
    if not set(_CONTROLLERS) <= set((root / "cgroup.controllers").read_text(encoding="ascii").split()):
        return None
    parent.mkdir(exist_ok=True)
    (parent / "cgroup.subtree_control").write_text("+memory +pids", encoding="ascii")
    return Cgroups((parent,), version=2)


def _version_1(root: Path) -> Cgroups | None:
    parents = tuple(root / controller / _PARENT for controller in _CONTROLLERS)
    for parent in parents:
        if not (parent.parent / "cgroup.procs").exists():
            return None
        parent.mkdir(exist_ok=True)
    return Cgroups(parents, version=1)
