"""What becomes of sessions that nobody uses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openclaw_workers.domain.ids import SessionKey


class Action(StrEnum):
    KEEP = "keep"
    ROLL_OVER = "roll over"
    """Its transcript is archived and saved to memory; the next message finds an empty one."""
    REMOVE = "remove"


class Reason(StrEnum):
    EXPIRED = "expired"
    UNUSED = "unused"
    SURPLUS = "surplus"


@dataclass(frozen=True, slots=True)
class Decision:
    action: Action
    reason: Reason | None = None
    why: str = ""


KEEP = Decision(Action.KEEP)


@dataclass(frozen=True, slots=True)
class Finding:
    """A session that is not kept as it is."""

    session: SessionKey
    decision: Decision
    updated_at: int
    is_done: bool = False
