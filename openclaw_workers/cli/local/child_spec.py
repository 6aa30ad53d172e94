"""What `ocw up` must know of a child process to start, watch and stop it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol


@dataclass(frozen=True, slots=True)
class Started:
    """A process that runs, in a session of its own."""

    pid: int
    output: IO[bytes]
    """What it writes to stdout and stderr."""
    wait: Callable[[], int]
    """Waits for its end, and returns its exit code, or the negative number of the signal that killed it."""


class Starter(Protocol):
    """Starts a child, with the lock that it holds while it is alive."""

    def __call__(self, spec: ChildSpec, lock_fd: int | None) -> Started: ...


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run, and how to treat it."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    is_ready: Callable[[int], bool]
    """Whether the process with this pid serves; called after each start until it does. May block for a second."""

    stop_rank: int = 0
    """Children with a lower rank are stopped first; the next rank is stopped when they have ended."""

    stop_seconds: float = 10.0
    """How long after SIGTERM its process group is killed."""

    start_attempts: int = 3
    """After this many deaths before it was ever ready, the start has failed."""

    is_shown: bool = True
    """Whether its output goes to the terminal; it goes to its log file in any case."""

    clean: Callable[[str], str] = field(default=str)
    """Removes the program's own time stamp from a line."""

    lock_path: Path | None = None
    """Locked while the child or a fork of it is alive, even if the supervisor is gone."""

    new_stdin: Callable[[], int] | None = None
    """Makes the file that becomes its stdin, a new one for each start; without it, it has no stdin."""

    modules: tuple[str, ...] = ()
    """What a Python program imports, for those who fork it."""

    start: Starter | None = None
    """Starts it; unset: as a program of its own."""
