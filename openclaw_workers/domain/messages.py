"""What a person, a channel or another session says to an agent."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from openclaw_workers.domain.encoding import encodable
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.transcript import Attachment


class QueueMode(StrEnum):
    """What happens to a message that finds its session busy."""

    COLLECT = "collect"  # wait, and be answered together with the others that waited
    FOLLOWUP = "followup"  # wait, and be answered alone
    STEER = "steer"  # join the running turn before its next model call
    STEER_BACKLOG = "steer-backlog"  # join the running turn and be answered by a turn of its own as well
    INTERRUPT = "interrupt"  # stop the running turn and be answered next
    REJECT = "reject"  # be refused


class DropPolicy(StrEnum):
    """Which message gives way when the inbox is full."""

    OLD = "old"
    NEW = "new"
    SUMMARIZE = "summarize"  # as `old`, but one line of each dropped message is shown to the agent


class Authority(StrEnum):
    """How far a sender is trusted; ordered from least to most."""

    ANYONE = "anyone"
    AUTHORIZED = "authorized"
    OWNER = "owner"

    def covers(self, needed: Authority) -> bool:
        order = list(Authority)
        return order.index(self) >= order.index(needed)


Storable = Annotated[str, AfterValidator(encodable)]
"""Text that a channel has chosen."""


class Route(BaseModel):
    """Where a message came from, and so where its answer goes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    channel: Storable
    to: Storable = ""
    account_id: Storable = ""
    thread_id: Storable = ""

    def address(self) -> str:
        """One string per route; two messages merge only if theirs are equal."""
        return "|".join((self.channel, self.account_id, self.to, self.thread_id))

    def delivery(self, message_id: MessageId, session: SessionKey) -> str:
        """The same each time the channel delivers a message, whichever session its chat or thread then belongs to.

        Without either the sender named the session, and may number the messages to each by themselves.
        """
        place = self.address() if self.to or self.thread_id else session
        return hashlib.sha256(f"{place}\0{message_id}".encode()).hexdigest()[:32]


class _Message(BaseModel):
    id: MessageId
    text: str
    route: Route
    sender: str = ""
    authority: Authority = Authority.ANYONE
    kind: Literal["user", "command", "internal"] = "user"
    model: str | None = None
    """Model for the turn this message starts; such a message is not merged with others."""
    extra_system_prompt: str | None = None
    """Added to the system prompt of the turn this message starts; it is not merged with others either."""
    thinking: str | None = None
    """Thinking level, likewise."""
    context_tokens: int | None = None
    """Tokens of context used at most, likewise."""
    timeout_seconds: int | None = None
    """How long that turn may take, likewise."""
    metadata: dict[str, str] = Field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()


class InboundMessage(_Message):
    """A message on its way into a session's inbox."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_key: SessionKey


class InboxEntry(_Message):
    """A message as it stands in the inbox: the accepted message plus its place in the line."""

    model_config = ConfigDict(extra="ignore")

    seq: int
    accepted_at: int
    """Milliseconds, by Redis."""
    mode: QueueMode = QueueMode.COLLECT


class MessageState(StrEnum):
    """How an accepted message stands. Everything but the first two is final."""

    ACCEPTED = "accepted"  # in the inbox
    BOUND = "bound"  # a run is answering it
    ANSWERED = "answered"  # covered by a committed turn
    FAILED = "failed"  # covered by a turn that failed visibly
    CANCELLED = "cancelled"  # stopped, interrupted, or its session was reset or deleted
    DROPPED = "dropped"  # gave way by the drop policy
    REJECTED = "rejected"  # refused on arrival: by queue mode `reject`, drop policy `new`, or a limit of the tree
