"""A sandbox: a directory that its commands work in, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from openclaw_workers.sandbox.limits import Limits

WORKSPACE = "/sandbox/workspace"
"""Where the commands of a sandbox see their files."""

Access = Literal["none", "ro", "rw"]


@dataclass(frozen=True, slots=True)
class Box:
    id: str
    home: Path
    """Its own directory under the state directory."""
    workspace: Path
    """What its commands see as their workspace: with access none a directory of its own, else the agent's."""
    access: Access
    limits: Limits
    has_network: bool
    uid: int | None
    """The user that its commands run as; None: that of the worker."""

    @property
    def is_private(self) -> bool:
        return self.access == "none"
