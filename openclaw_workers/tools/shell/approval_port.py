"""How `exec` asks whether a command may run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Verdict(StrEnum):
    ALLOWED = "allowed"
    DENIED = "denied"
    MUST_ASK = "must ask"


@dataclass(frozen=True, slots=True)
class Decision:
    verdict: Verdict
    reason: str = ""
    """Why it is denied or must be asked; the model reads it."""


class ApprovalPort(Protocol):
    def check(self, command: str, *, cwd: str, place: str) -> Decision:
        """Whether a command may run in a directory. `place`: where it would run, `host` or `sandbox`."""
