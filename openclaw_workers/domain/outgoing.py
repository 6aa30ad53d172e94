"""Messages from an agent to a chat: what the outbox holds and what a channel's adapter renders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.stored_json import to_json

MAX_FILE_BYTES = 8 << 20
"""The largest file that one part of an outgoing message may be."""
REPLY_TO = "replyTo"
"""Metadata of an accepted message: the channel's own id of it. An answer becomes a reply to that message."""

WEBHOOK = "webhook"
"""The channel of answers that are sent as JSON to an address; the text of such a message is the JSON."""

SendDecision = Literal["allow", "deny"]


class OutgoingKind(StrEnum):
    """What an outgoing message is."""

    REPLY = "reply"  # the answer to a person's message
    ANNOUNCE = "announce"  # the answer of a turn that sub-agents or another session started
    NOTICE = "notice"  # the system tells the chat something: a failure, a reset, dropped messages
    PROGRESS = "progress"  # what is being done while a turn runs
    MESSAGE = "message"  # an agent wrote to a chat without being asked there


class OutgoingAction(StrEnum):
    """What is done in the chat."""

    SEND = "send"
    EDIT = "edit"  # replace the text of `target_id`
    DELETE = "delete"  # remove `target_id`
    REACT = "react"  # put `emoji` on `target_id`
    TOPIC = "topic"  # create a thread called `title`


class OutgoingState(StrEnum):
    """The state of an outbox entry."""

    QUEUED = "queued"  # it waits for its turn, or for its next attempt
    SENDING = "sending"  # a part is with the channel now
    SENT = "sent"  # every part was accepted by the channel
    UNKNOWN = "unknown"  # a part may or may not have arrived; a person decides
    FAILED = "failed"  # the channel refused it, or every attempt failed
    DROPPED = "dropped"  # a person decided that it is not sent


class _Outgoing(BaseModel):
    # A newer version may have written the entry during a rolling deploy: ignore unknown fields.
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", defer_build=True
    )


class OutgoingFile(_Outgoing):
    """A file to send. The store keeps its bytes; the message carries this description."""

    id: str
    """Names the bytes in the store."""
    name: str
    media_type: str = "application/octet-stream"
    size: int = Field(default=0, ge=0, le=MAX_FILE_BYTES)


class Button(_Outgoing):
    """A button under a message. Pressing it sends `data` back as text, or opens `url`."""

    text: str
    data: str = ""
    url: str = ""


class OutgoingMessage(_Outgoing):
    """One message to a chat, before a channel's adapter has split it into parts."""

    id: str
    """Unique and derived from what caused the message, so that a repeated script adds nothing."""
    kind: OutgoingKind
    action: OutgoingAction = OutgoingAction.SEND
    route: Route
    session_key: str = ""
    run_id: str = ""
    text: str = ""
    """Markdown."""
    files: tuple[OutgoingFile, ...] = ()
    buttons: tuple[tuple[Button, ...], ...] = ()
    """Rows of buttons; a channel without buttons lists them as text."""
    reply_to: str = ""
    """The channel's id of the message that this one answers."""
    target_id: str = ""
    """The channel's id of the message that is changed, removed or reacted to."""
    emoji: str = ""
    title: str = ""
    """The name of the thread to create."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What a script sends to the chats that it finds by itself."""

    key: str
    """One word that tells the messages of one cause apart; part of the id."""
    kind: OutgoingKind
    text: str
    always: bool = False
    """Sent whatever the send policy says: the answer to a command."""


@dataclass(frozen=True)
class Delivery:
    """What a script may send to chats. Channels that do not push are not in `policies` and get nothing."""

    policies: Mapping[str, SendDecision] = field(default_factory=dict)
    """What the rules of the send policy say of this session, by channel that pushes."""
    messages: tuple[ChatMessage, ...] = ()
    suppressed: str = ""
    """The transcript entry (JSON) that is written if a reply is held back."""

    @cached_property
    def as_json(self) -> str:
        """As scripts read it. Most are the same for every message of a session, so it is kept."""
        if not self.policies:
            return '{"policies":{},"messages":[]}'
        messages = [
            {"key": each.key, "kind": each.kind, "text": each.text, "always": each.always} for each in self.messages
        ]
        return to_json({"policies": dict(self.policies), "messages": messages, "suppressed": self.suppressed})


NO_DELIVERY = Delivery()


class SentPartRecord(_Outgoing):
    """How one part of a message ended; empty if it has not."""

    state: OutgoingState | None = None
    """`sent` or `unknown`."""
    message_id: str = ""
    """The channel's id of the sent message."""
    at: int | None = None


class OutboxEntry(_Outgoing):
    """A message in the outbox. All times are epoch milliseconds."""

    message: OutgoingMessage
    state: OutgoingState
    created_at: int
    next_part: int = 0
    """The part that is sent next, or is being sent."""
    parts: tuple[SentPartRecord, ...] = ()
    """One for each rendered part; empty before the message is rendered."""
    attempts: int = 0
    """How often the channel refused it for now."""
    error: str = ""
    """What went wrong last."""
    retry_at: int | None = None
    ended_at: int | None = None

    @property
    def id(self) -> str:
        return self.message.id
