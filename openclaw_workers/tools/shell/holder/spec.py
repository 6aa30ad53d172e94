"""What a holder is given, and what it leaves in its directory."""

from __future__ import annotations

from typing import TypedDict


class Watch(TypedDict):
    dir: str
    bytes: int


class Restriction(TypedDict, total=False):
    """What the command's process gives up before it becomes the program."""

    open_files: dict[str, str]
    """Paths that it has open, by the numbers of their descriptors."""
    staged: str
    """Directory that it sees as /tmp/workspace until it sees something else; only as root."""
    cgroups: list[str]
    """Directories of the cgroups that it joins; they are removed after its end."""
    rlimits: dict[str, int]
    """By the names of the module `resource`."""
    niceness: int
    """How much it gives way to processes of others, as nice(2) counts."""
    uid: int
    """User and group that it becomes."""


class Spec(TypedDict):
    dir: str
    """Directory of this command. The holder writes `output.<n>`, `exit.json`, `socket` and `lock` there."""
    argv: list[str]
    cwd: str
    env: dict[str, str]
    pty: bool
    stdin: bool
    """Whether it can be given input; with a terminal it always can."""
    timeout_seconds: float | None
    finished: str
    """File to create when the detached command has ended by itself; "" for none."""
    restrict: Restriction
    watch: Watch | None
    """Directory that the command may fill, and how far."""


class Exit(TypedDict):
    code: int
    """Negative: the number of the signal that ended it."""
    reason: str
    """exited, timed out, stopped, killed, disk limit, or worker died."""
    bytes: int
    """All output, kept or not."""
    ended_at: int
    """Epoch milliseconds."""


SEGMENT_BYTES = 1 << 20
"""Output is kept in files of this size."""
KEPT_SEGMENTS = 16
"""Older ones are deleted."""

HOLDER_READY = b"ready\n"
"""What a new holder says first; anything else is why there is none."""

EXIT_FILE = "exit.json"
SOCKET = "socket"
LOCK = "lock"
SEGMENT = "output.{}"
