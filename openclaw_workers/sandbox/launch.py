"""How a command is started, on the host or in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

STAGED = "/tmp/workspace"  # noqa: S108 (in mounts of its own)


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to start, and what its process gives up before it becomes that program."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    open_files: Mapping[int, str] = field(default_factory=dict)
    """Files that it has open, by their descriptors: as another user it could not open them."""
    staged: str | None = None
    """Directory that it sees as `STAGED` until it sees something else: as another user it could not reach it."""
    cgroups: Sequence[str] = ()
    """Directories of the cgroups that it joins; they are removed after its end."""
    uid: int | None = None
    """User and group that it becomes."""
    rlimits: Mapping[str, int] = field(default_factory=dict)
    """Limits by their names in the module `resource`."""
    niceness: int = 0
    """How much it gives way to processes of others, as nice(2) counts."""
    watched_dir: str | None = None
    """Directory that it may fill up to `watched_bytes`; then it is ended."""
    watched_bytes: int = 0
    max_seconds: float | None = None
    """It may not take longer, whatever its call says."""
    is_sandboxed: bool = False
