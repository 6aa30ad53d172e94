"""What a session shows while it works: its events, and the engine's view of its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a session's event stream."""

    id: str
    type: str
    seq: int
    at: int
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionState:
    """The engine's view of a session, for people to read."""

    state: str
    run: str
    lease_until: int
    owner: str
    attempt: int
    waiting: int
    waits_for: str = ""
    """Where the files of its agent are, if its run waits until a worker sees them."""
