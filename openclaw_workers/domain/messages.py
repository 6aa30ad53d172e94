"""Messages from a person, a channel or another session to an agent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.stored_json import check_json_form
from openclaw_workers.domain.transcript import Attachment

MOST_WAITING = 1000
"""How many messages one inbox holds, whoever sends them; `INBOX_MOST` in lib/messages.lua is the same."""


class QueueMode(StrEnum):
    """What happens to a message that arrives while its session is busy."""

    COLLECT = "collect"  # it waits; one turn answers it together with the other waiting messages
    FOLLOWUP = "followup"  # it waits; a turn of its own answers it
    STEER = "steer"  # it joins the running turn before the next model call
    STEER_BACKLOG = "steer-backlog"  # it joins the running turn and also gets a turn of its own
    INTERRUPT = "interrupt"  # it stops the running turn and is answered next
    REJECT = "reject"  # it is rejected


class DropPolicy(StrEnum):
    """Which message is dropped when the inbox is full."""

    OLD = "old"
    NEW = "new"
    SUMMARIZE = "summarize"  # like `old`, but the agent sees one line of each dropped message


class Authority(StrEnum):
    """How far a sender is trusted, from least to most."""

    ANYONE = "anyone"
    AUTHORIZED = "authorized"
    OWNER = "owner"

    def covers(self, needed: Authority) -> bool:
        order = list(Authority)
        return order.index(self) >= order.index(needed)


def least_authority(found: Iterable[Authority]) -> Authority:
    """The lowest of several; of none, the lowest there is."""
    return min(found, key=list(Authority).index, default=Authority.ANYONE)


Storable = Annotated[str, AfterValidator(replace_surrogates)]
"""Text that a channel has chosen."""


class Route(BaseModel):
    """Where a message came from, which is also where its answer goes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    channel: Storable
    to: Storable = ""
    account_id: Storable = ""
    thread_id: Storable = ""

    def address(self) -> str:
        """One string per route. Two messages are merged only if their addresses are equal."""
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
    """The model for the turn this message starts. A message with a model is not merged with others."""
    extra_system_prompt: str | None = None
    """Added to the system prompt of that turn. This and the next three also prevent merging."""
    thinking: str | None = None
    """The thinking level of that turn."""
    context_tokens: int | None = None
    """How many tokens of context that turn may use."""
    timeout_seconds: int | None = None
    """How long that turn may take."""
    metadata: dict[str, str] = Field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()


class InboundMessage(_Message):
    """A message on its way into a session's inbox."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    session_key: SessionKey


class InboxEntry(_Message):
    """A message in the inbox: the accepted message plus its sequence number."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    seq: int
    accepted_at: int
    """Milliseconds, by the clock of Redis."""
    mode: QueueMode = QueueMode.COLLECT


def read_inbox_entry(raw: str, *, strict: bool = False) -> InboxEntry:
    """Parse a message of an inbox.

    Raises:
        pydantic.ValidationError: it is damaged.
        NewerRecord: newer code wrote it.
    """
    check_json_form(raw, "a message")
    return InboxEntry.model_validate_json(raw, strict=strict)


class MessageState(StrEnum):
    """The state of an accepted message. All states but the first two are final."""

    ACCEPTED = "accepted"  # in the inbox
    BOUND = "bound"  # a run is answering it
    ANSWERED = "answered"  # a committed turn covers it
    FAILED = "failed"  # a turn that failed visibly covers it
    CANCELLED = "cancelled"  # it was stopped or interrupted, or its session was reset or deleted
    DROPPED = "dropped"  # the drop policy removed it from the inbox
    REJECTED = "rejected"  # rejected on arrival by queue mode `reject`, drop policy `new` or a limit of the tree
