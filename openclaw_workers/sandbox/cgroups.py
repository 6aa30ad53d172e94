"""Limits by cgroups, where this process may make some: in version 2, or in the controllers of version 1."""

from __future__ import annotations

import errno
import os
import secrets
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.sandbox.limits import Limits

_PARENT = "openclaw-workers"
_LEAF = "openclaw-workers-main"
_CONTROLLERS = {"memory", "pids"}


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
        directories = [parent / name for parent in self.parents]
        try:
            for directory in directories:
                directory.mkdir()
            self._set_limits(directories, limits)
        except OSError:
            remove_cgroups(directories)
            raise
        return [str(directory) for directory in directories]

    def _set_limits(self, directories: list[Path], limits: Limits) -> None:
        memory, processes = str(limits.memory_bytes), str(limits.processes)
        if self.version == 2:
            needed = {"memory.max": memory, "pids.max": processes}
            # A kernel without swap accounting has no file for it.
            where_present = {"memory.swap.max": "0", "memory.oom.group": "1"}
        else:
            needed = {"memory.limit_in_bytes": memory, "pids.max": processes}
            where_present = {"memory.memsw.limit_in_bytes": memory}
        for name, value in (needed | where_present).items():
            files = [file for directory in directories if (file := directory / name).exists()]
            if not files and name in needed:
                raise FileNotFoundError(errno.ENOENT, f"the kernel made a cgroup without {name}", str(directories[0]))
            for file in files:
                file.write_text(value, encoding="ascii")


def remove_cgroups(directories: Iterable[str | Path]) -> None:
    for directory in directories:
        with suppress(OSError):
            os.rmdir(directory)


def find_cgroups(root: Path = Path("/sys/fs/cgroup")) -> Cgroups | None:
    """Cgroups that limit memory and processes; None if this process may make none. Found by joining one."""
    candidates = _version_2(root) if (root / "cgroup.controllers").exists() else _version_1(root)
    with suppress(OSError):
        for found in candidates:
            if _can_be_joined(found):
                return found
    return None


def _can_be_joined(cgroups: Cgroups) -> bool:
    try:
        made = cgroups.create(Limits())
    except OSError:
        return False
    try:
        join = 'for each; do echo $$ > "$each/cgroup.procs" || exit 1; done'
        argv = ["/bin/sh", "-c", join, "sh", *made]
        return subprocess.run(argv, check=False, capture_output=True).returncode == 0  # noqa: S603 (names of our own)
    finally:
        remove_cgroups(made)


def _version_2(root: Path) -> Iterator[Cgroups]:
    """From the root down to our own cgroup: often one further down was given to the user of this process.

    A process may be moved only below a cgroup that the mover may write to, so no other cgroup is looked at.
    """
    own = _own_cgroup(root)
    for directory in (*reversed(own.parents), own):
        if not directory.is_relative_to(root) or not _words(directory / "cgroup.controllers") >= _CONTROLLERS:
            continue
        with suppress(OSError):
            _enable(directory)
            parent = directory / _PARENT
            parent.mkdir(exist_ok=True)
            _enable(parent)
            yield Cgroups((parent,), version=2)


def _enable(directory: Path) -> None:
    """Let the cgroups in this one have limits. The kernel allows it only where no process is in this one itself."""
    control = directory / "cgroup.subtree_control"
    if _words(control) >= _CONTROLLERS:
        return
    wanted = " ".join(f"+{controller}" for controller in _CONTROLLERS)
    try:
        control.write_text(wanted, encoding="ascii")
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        _move_to_leaf(directory)
        control.write_text(wanted, encoding="ascii")


def _own_cgroup(root: Path) -> Path:
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        if line.startswith("0::/") and ".." not in line:
            return root / line.removeprefix("0::/")
    return root


def _words(file: Path) -> set[str]:
    return set(file.read_text(encoding="ascii").split())


def _move_to_leaf(own: Path) -> None:
    """Move this process and its neighbours one cgroup down, for example all of a service with `Delegate=yes`."""
    leaf = own / _LEAF
    leaf.mkdir(exist_ok=True)
    for _ in range(10):  # a process may start another meanwhile
        if not (pids := _words(own / "cgroup.procs")):
            return
        for pid in pids:
            with suppress(ProcessLookupError):
                (leaf / "cgroup.procs").write_text(pid, encoding="ascii")


def _version_1(root: Path) -> Iterator[Cgroups]:
    parents = tuple(root / controller / _PARENT for controller in sorted(_CONTROLLERS))
    with suppress(OSError):
        for parent in parents:
            if not (parent.parent / "cgroup.procs").exists():
                return
            parent.mkdir(exist_ok=True)
        yield Cgroups(parents, version=1)
