"""Commands in a sandbox of bubblewrap: namespaces of their own, a read-only root, of the host its programs alone."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from openclaw_workers.sandbox.backend import Availability, Run
from openclaw_workers.sandbox.box import WORKSPACE, Box
from openclaw_workers.sandbox.cgroups import Cgroups, find_cgroups
from openclaw_workers.sandbox.launch import STAGED, Launch
from openclaw_workers.sandbox.limits import Limits
from openclaw_workers.sandbox.ownership import UID_COUNT, count_processes, give_to
from openclaw_workers.sandbox.seccomp import seccomp_filter

INSTALL = "apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), apk add bubblewrap (Alpine)"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NICENESS = 15
"""Many busy processes in a sandbox must not keep the worker, and with it other sessions, from the processor."""
_USER = 1000
"""Who the command is inside."""
# High enough to be clear of what the starting process has open itself.
_FIRST_FD = 30
_RETRY_SECONDS = 60.0

_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl/certs", "ssl/openssl.cnf", "pki", "localtime"),
    *("nsswitch.conf", "mime.types", "magic", "terminfo", "fonts", "python3", "java", "services", "protocols"),
)
_NETWORK_SETTINGS = ("resolv.conf", "hosts")
_OWN_FILES = {
    "passwd": f"sandbox:x:{_USER}:{_USER}:sandbox:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": f"sandbox:x:{_USER}:\nnogroup:x:65534:\n",
}


@dataclass(frozen=True)
class Bubblewrap:
    """Starts commands with bwrap. `files` is a directory for its own small files; `run` starts a command to try it."""

    files: Path
    run: Run
    program: str = "bwrap"
    uid_base: int = 600_000
    _asking: ClassVar[threading.Lock] = threading.Lock()
    _answers: ClassVar[dict[tuple[str, int], tuple[float, Availability]]] = {}
    name: ClassVar[str] = "bubblewrap"

    @cached_property
    def cgroups(self) -> Cgroups | None:
        return find_cgroups()

    @cached_property
    def filter_file(self) -> Path | None:
        rules = seccomp_filter()
        return self._own_file("seccomp", rules) if rules else None

    def availability(self) -> Availability:
        key = (self.program, os.getuid())
        with self._asking:
            asked_at, answer = self._answers.get(key, (0.0, Availability(False)))
            # A yes holds for the life of the process. A no is tried again, because somebody may install the program
            # meanwhile.
            if answer.is_available or (asked_at and time.monotonic() - asked_at < _RETRY_SECONDS):
                return answer
            answer = self._try()
            self._answers[key] = (time.monotonic(), answer)
            return answer

    def _try(self) -> Availability:
        """Start a command for real: in many containers the program is there, but the kernel refuses its namespaces."""
        if shutil.which(self.program) is None:
            return Availability(False, f"the program {self.program} is not installed", INSTALL)
        home = self.files / "probe"
        # One past the users of real sandboxes, so that the probe shares none with them.
        uid = self.uid_base + UID_COUNT if os.getuid() == 0 else None
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            box = Box("probe", home, home, "none", Limits(), False, uid)
            code, output = self.run(self.launch(box, ["/bin/sh", "-c", "echo sandbox"], workdir=(), env={}))
        except OSError as error:
            return Availability(False, f"a sandbox cannot be started here: {error.strerror or error}")
        if code != 0 or "sandbox" not in output:
            said = " ".join(output.split())[-300:] or f"exit code {code}"
            return Availability(
                False, f"{self.program} is installed, but the system refuses to start a sandbox ({said})"
            )
        return Availability(True)

    def launch(self, box: Box, argv: Sequence[str], *, workdir: Sequence[str], env: Mapping[str, str]) -> Launch:
        # A read-only workspace cannot grow and must keep its owner.
        used = 0 if box.access == "ro" else give_to(box.workspace, box.uid)
        files = _OpenFiles()
        bwrap = [
            shutil.which(self.program) or self.program,
            *self._namespaces(box),
            *self._root(box, files),
            *("--chdir", "/".join((WORKSPACE, *workdir))),
            *self._seccomp(files),
            "--",
            *argv,
        ]
        disk = box.limits.disk_bytes
        return Launch(
            argv=bwrap,
            cwd="/",
            # Nothing of the worker's own environment: it holds keys.
            env={"PATH": PATH, "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "sandbox", **env},
            open_files=files.by_fd,
            staged=None if box.uid is None else str(box.workspace),
            cgroups=self.cgroups.create(box.limits) if self.cgroups else (),
            uid=box.uid,
            rlimits=self._rlimits(box),
            niceness=_NICENESS,
            watched_dir=None if box.access == "ro" else str(box.workspace),
            # An agent's own workspace may already be larger than the limit. Only what a command adds counts there.
            watched_bytes=disk if box.is_private else disk + used,
            max_seconds=box.limits.seconds,
            is_sandboxed=True,
        )

    def _namespaces(self, box: Box) -> list[str]:
        user = ["--uid", str(_USER), "--gid", str(_USER)]
        network = ["--share-net"] if box.has_network else []
        return [
            # `--disable-userns`: a nested user namespace would give the command capabilities again, and kernel code
            # to attack.
            *("--unshare-all", *network, "--unshare-user", "--disable-userns", *user, "--cap-drop", "ALL"),
            *("--die-with-parent", "--hostname", "sandbox"),
        ]

    def _root(self, box: Box, files: _OpenFiles) -> list[str]:
        settings = (*_SETTINGS, *(_NETWORK_SETTINGS if box.has_network else ()))
        size = str(box.limits.tmp_bytes)
        args: list[str] = []
        for directory in _PROGRAMS:
            args += _program_directory(directory)
        for name in settings:
            args += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        for name, text in _OWN_FILES.items():
            args += ["--ro-bind-data", files.open(self._own_file(name, text.encode())), f"/etc/{name}"]
        bind = "--ro-bind" if box.access == "ro" else "--bind"
        # Another user cannot walk down to the workspace through the worker's private directories.
        workspace = str(box.workspace) if box.uid is None else STAGED
        return [
            *args,
            *("--proc", "/proc", "--dev", "/dev"),
            *("--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
            *("--perms", "1777", "--size", size, "--tmpfs", "/tmp", "--symlink", "/tmp", "/var/tmp", "--dir", "/run"),
            *(bind, workspace, WORKSPACE),
            # Last, after all mount points were made in it.
            *("--remount-ro", "/"),
        ]

    def _seccomp(self, files: _OpenFiles) -> list[str]:
        return ["--seccomp", files.open(self.filter_file)] if self.filter_file else []

    def _rlimits(self, box: Box) -> dict[str, int]:
        limits = box.limits
        held = {"RLIMIT_CORE": 0, "RLIMIT_CPU": limits.cpu_seconds, "RLIMIT_FSIZE": limits.disk_bytes}
        if self.cgroups is None:
            # The kernel counts all processes of the user, also those outside, so those are added to the limit.
            others = count_processes(os.getuid()) if box.uid is None else 0
            held |= {"RLIMIT_AS": limits.memory_bytes, "RLIMIT_NPROC": limits.processes + others}
        elif box.uid is not None:
            held["RLIMIT_NPROC"] = limits.processes
        return held

    def measures(self, box: Box) -> dict[str, str]:
        by_group = f"cgroup (version {self.cgroups.version}) of each command" if self.cgroups else ""
        shared = "" if box.uid is not None else ", counted with the worker's other processes"
        user = f"{box.uid}, of its own" if box.uid is not None else f"{os.getuid()}, that of the worker"
        return {
            "user": user,
            "memory": by_group or "rlimit of the address space of each process",
            "processes": by_group or f"rlimit of the user's processes{shared}",
            "cpu": f"rlimit of the processor time of each process, at niceness {_NICENESS}",
            "disk": "rlimit of each file, and a watcher that ends a command which fills the workspace"
            if box.access != "ro"
            else "read-only workspace",
            "time": "the command's holder",
            "network": "the host's" if box.has_network else "none (a namespace of its own)",
            "seccomp": "on" if self.filter_file else "not available for this processor",
        }

    def _own_file(self, name: str, data: bytes) -> Path:
        path = self.files / name
        if not path.exists() or path.read_bytes() != data:
            self.files.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = path.with_name(f"{name}.{os.getpid()}.{threading.get_ident()}")
            beside.write_bytes(data)
            # Another worker may be starting a sandbox with this file now, and must not read half of it.
            os.replace(beside, path)
        return path


class _OpenFiles:
    """Descriptors that bwrap is given: as another user it could not open these paths."""

    def __init__(self) -> None:
        self.by_fd: dict[int, str] = {}

    def open(self, path: Path) -> str:
        fd = _FIRST_FD + len(self.by_fd)
        self.by_fd[fd] = str(path)
        return str(fd)


def _program_directory(path: str) -> list[str]:
    """Where /bin and others are links into /usr, so are they inside."""
    if os.path.islink(path):
        return ["--symlink", os.readlink(path), path]
    return ["--ro-bind-try", path, path]
