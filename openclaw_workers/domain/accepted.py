"""What becomes of a message that somebody sends: queued, rejected, or answered at once."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.receipt import Receipt


@dataclass(frozen=True, slots=True)
class Answered:
    """A command was carried out at once."""

    text: str


@dataclass(frozen=True, slots=True)
class Queued:
    """The message is in the inbox and will be answered, whatever dies."""

    message_id: MessageId
    session_key: SessionKey
    """Of a repeat, the session that it went to first."""
    run: RunId | None
    event_id: str
    duplicate: Receipt | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The session would not take it: `busy` by queue mode reject, or `full` by drop policy new; of an agent, `children`
    or `tree` by that limit, or `busy` if its inbox is full."""

    message_id: MessageId
    reason: str
