"""Messages of the outbox as they are stored, and what a sender is given of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import (
    OutboxEntry,
    OutgoingKind,
    OutgoingMessage,
    OutgoingState,
    SentPartRecord,
)
from openclaw_workers.domain.stored_json import check_json_form
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.quarantine import fields_at_fault


class PartOutcome(StrEnum):
    """How sending one part ended."""

    SENT = "sent"
    UNKNOWN = "unknown"  # it may have arrived
    LATER = "later"  # the channel said when to try again
    RETRY = "retry"  # it was refused for now; counts as an attempt
    FAILED = "failed"  # it will never be accepted
    EMPTY = "empty"  # the message was rendered to nothing


@dataclass(frozen=True, slots=True)
class Account:
    """One account of one channel, as a sender serves it."""

    channel: str
    account_id: str
    dedupes: bool = False
    """Whether the channel ignores a second send of the same part."""

    @property
    def name(self) -> str:
        return f"{self.channel}|{self.account_id}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A message that a sender may send: it holds the route until its lease ends."""

    account: Account
    address: str
    token: str
    entry: OutboxEntry
    parts: tuple[str, ...]
    """The stored parts (JSON); empty before the first send."""


@dataclass(frozen=True, slots=True)
class Claimed:
    claims: tuple[Claim, ...]
    wait_ms: int
    """Until a route is ready; -1 if none waits."""
    more: bool
    """Whether new messages are left to sort."""


@dataclass(frozen=True, slots=True)
class OutboxCounts:
    queued: int
    """Includes the message that is being sent."""
    kept: int
    """Unknown and failed."""


def as_entry(raw: dict[str, str]) -> OutboxEntry:
    """Parse a stored message.

    Raises:
        CorruptRecord: it cannot be read.
        NewerRecord: newer code wrote it.
    """
    check_json_form(raw.get("message", ""), f"outbox message {raw.get('id')}")
    try:
        message = OutgoingMessage.model_validate_json(raw["message"])
        sent = [
            SentPartRecord.model_validate_json(raw.get(f"part {index}", "{}")) for index in range(int(raw["parts"]))
        ]
        return OutboxEntry(
            message=message,
            state=OutgoingState(raw["state"]),
            created_at=int(raw["created_at"]),
            next_part=int(raw["next"]),
            parts=tuple(sent),
            attempts=int(raw.get("attempts", 0)),
            error=raw.get("error", ""),
            retry_at=int(raw["retry_at"]) if raw.get("retry_at") else None,
            ended_at=int(raw["ended_at"]) if raw.get("ended_at") else None,
        )
    except ValidationError as error:
        raise CorruptRecord(f"outbox message {raw.get('id')}", fields_at_fault(error)) from error
    except (KeyError, ValueError) as error:
        raise CorruptRecord(f"outbox message {raw.get('id')}", str(error)) from error


def stand_in(raw: dict[str, str]) -> OutboxEntry:
    """What is known of a message that cannot be read."""
    known, next_part = raw.get("state", ""), raw.get("next", "0")
    # The address may be damaged too; padded, it always has four parts.
    channel, account, to, thread = (raw.get("address", "") + "|||").split("|")[:4]
    route = Route(channel=channel, account_id=account, to=to, thread_id=thread)
    return OutboxEntry(
        message=OutgoingMessage(id=raw.get("id", ""), kind=OutgoingKind.MESSAGE, route=route, text="(unreadable)"),
        state=OutgoingState(known) if known in list(OutgoingState) else OutgoingState.FAILED,
        created_at=int(raw.get("created_at") or 0),
        next_part=int(next_part) if next_part.isdigit() else 0,
        error=raw.get("error") or "the message cannot be read",
    )


def shown_entry(raw: dict[str, str]) -> OutboxEntry:
    try:
        return as_entry(raw)
    except CorruptRecord:
        return stand_in(raw)


def pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def account_of(address: str) -> str:
    return "|".join(address.split("|")[:2])
