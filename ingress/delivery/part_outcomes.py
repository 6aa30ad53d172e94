"""Sends one part, and says how that ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ingress.channels.adapter import Adapter, Part, SendLater, SendRefused
from ingress.delivery.actions import perform
from openclaw_workers.domain.outgoing import OutgoingMessage
from openclaw_workers.store.outbox_records import PartOutcome

RETRY_SECONDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800)
"""Pauses after a channel refused a part for now; about an hour in all. After the last one the message fails."""
LONGEST_PAUSE_SECONDS = 86_400.0
SHORTEST_PAUSE_SECONDS = 0.05
ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class Ended:
    """How sending a part ended, as the outbox records it."""

    outcome: PartOutcome
    message_id: str = ""
    error: str = ""
    delay_ms: int = 0


async def send_part(adapter: Adapter, message: OutgoingMessage, part: Part, *, attempts: int, seconds: float) -> Ended:
    """Send a part once. `attempts`: how often it was refused before. `seconds`: how long the channel may take."""
    try:
        async with asyncio.timeout(seconds):
            sent = await perform(adapter, message, part)
    except Exception as error:  # noqa: BLE001 - an adapter's error must not end the sender
        return ended_by(error, attempts, dedupes=adapter.capabilities.dedupes_sends)
    return Ended(PartOutcome.SENT, message_id=sent.message_id)


def ended_by(error: Exception, attempts: int, *, dedupes: bool) -> Ended:
    """What an adapter's error means. Anything that is not a plain refusal may have reached the channel."""
    match error:
        case SendLater(seconds=seconds, reason=reason):
            pause = min(max(seconds, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
            return Ended(PartOutcome.LATER, error=reason[:ERROR_CHARS], delay_ms=int(pause * 1000))
        case SendRefused(permanent=True, reason=reason):
            return Ended(PartOutcome.FAILED, error=reason[:ERROR_CHARS])
        case SendRefused(reason=reason):
            return _again(attempts, reason)
        case TimeoutError():
            reason = "the channel did not answer in time"
        case _:
            reason = f"{type(error).__name__}: {error}"
    return _again(attempts, reason) if dedupes else Ended(PartOutcome.UNKNOWN, error=reason[:ERROR_CHARS])


def _again(attempts: int, reason: str) -> Ended:
    if attempts >= len(RETRY_SECONDS):
        return Ended(PartOutcome.FAILED, error=f"given up after {attempts + 1} attempts: {reason}"[:ERROR_CHARS])
    return Ended(PartOutcome.RETRY, error=reason[:ERROR_CHARS], delay_ms=int(RETRY_SECONDS[attempts] * 1000))
