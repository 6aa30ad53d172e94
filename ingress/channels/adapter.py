"""The contract between a chat channel and the rest of the system.

An adapter receives messages from one account of one channel and sends messages to it. Delivery (`ingress.delivery`)
decides what is sent, when, and how often; an adapter only renders and sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, runtime_checkable

from starlette.routing import BaseRoute

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import MAX_FILE_BYTES, OutgoingFile, OutgoingMessage


@dataclass(frozen=True)
class Capabilities:
    """What a channel can do. An adapter implements the matching protocol below for each of edit, delete, react, topics.

    The names of those that are true go into the agent's prompt as `capabilities=`.
    """

    threads: bool = False
    """Replies inside a thread."""
    topics: bool = False
    """New threads can be created: `CreatesTopics`."""
    edit: bool = False
    """A sent text can be changed: `Edits`."""
    delete: bool = False
    """A sent message can be removed: `Deletes`."""
    react: bool = False
    """An emoji can be put on a message: `Reacts`."""
    buttons: bool = False
    files: bool = False
    typing: bool = False
    drafts: bool = False
    """A text can be shown while it is being written."""
    dedupes_sends: bool = False
    """The channel ignores a second send with the same `Part.key`, so an uncertain send may be repeated."""
    max_text: int = 4096
    """The longest text of one message, in the channel's own unit."""
    max_file_bytes: int = MAX_FILE_BYTES
    incompatible_tools: tuple[str, ...] = ()
    """Tools that agents do not have in sessions of this channel."""

    def names(self) -> tuple[str, ...]:
        """The capabilities that are true, as the runtime line of the prompt lists them; then `-` and each such tool."""
        able = (each.name for each in fields(self) if getattr(self, each.name) is True)
        return (*able, *(f"-{tool}" for tool in self.incompatible_tools))


@dataclass(frozen=True)
class Part:
    """One call to the channel. `payload` and `file` are stored before the first send; the same part is sent on a retry.

    `render` sets `payload` and, for a file, `file`. Delivery sets `key` and `content` before it calls `send`.
    """

    payload: Mapping[str, Any] = field(default_factory=dict)
    """JSON that the adapter understands: text and entities, a caption, buttons, what it replies to."""
    file: OutgoingFile | None = None
    """The file that this part sends, one of the message's."""
    key: str = ""
    """The same at every attempt to send this part, and unlike the key of any other part."""
    content: bytes = b""
    """The bytes of `file`."""


@dataclass(frozen=True)
class SentPart:
    """What the channel answered."""

    message_id: str = ""
    """The channel's id of the new message."""


class SendLater(Exception):
    """The channel did not accept the part and said when to try again (a rate limit). Nothing was sent."""

    def __init__(self, seconds: float, reason: str) -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.reason = reason


class SendRefused(Exception):
    """The channel did not accept the part. Nothing was sent.

    `permanent`: it never will (the chat is gone, the bot is blocked, the part is invalid). Otherwise delivery tries
    again with growing pauses.
    """

    def __init__(self, reason: str, *, permanent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent


class Adapter(Protocol):
    """One account of one channel."""

    @property
    def channel(self) -> str:
        """The channel's name, as in `Route.channel`."""

    @property
    def account_id(self) -> str:
        """The account's name, as in `Route.account_id`."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def run(self) -> None:
        """Receive messages until cancelled, under a lease of the account."""

    def render(self, message: OutgoingMessage) -> list[Part]:
        """Split a message into parts, in sending order. Pure: the same message gives the same parts."""

    async def send(self, route: Route, part: Part) -> SentPart:
        """Send one part, once. Do not retry inside.

        Raises:
            SendLater: the channel asked to wait; nothing was sent.
            SendRefused: the channel said no, or the request never left; nothing was sent.
            Exception: any other. The request may have reached the channel, so the outcome is unknown.
        """

    async def typing(self, route: Route) -> None:
        """Show once that an answer is being written; does nothing where the channel cannot."""


@runtime_checkable
class Edits(Protocol):
    """An adapter with `Capabilities.edit`."""

    async def edit(self, route: Route, message_id: str, part: Part) -> None:
        """Replace the text of a sent message; raises as `Adapter.send` does."""


@runtime_checkable
class Deletes(Protocol):
    """An adapter with `Capabilities.delete`."""

    async def delete(self, route: Route, message_id: str) -> None:
        """Remove a sent message; raises as `Adapter.send` does."""


@runtime_checkable
class Reacts(Protocol):
    """An adapter with `Capabilities.react`."""

    async def react(self, route: Route, message_id: str, emoji: str) -> None:
        """Put an emoji on a message, or take it away if empty; raises as `Adapter.send` does."""


@runtime_checkable
class CreatesTopics(Protocol):
    """An adapter with `Capabilities.topics`."""

    async def create_topic(self, route: Route, name: str) -> str:
        """Create a thread in the chat of this route; returns its thread id. Raises as `Adapter.send` does."""


@runtime_checkable
class ServesHttp(Protocol):
    """An adapter to which its channel sends messages over HTTP."""

    def routes(self) -> list[BaseRoute]:
        """Served by every ingress process, without a token: the adapter checks that the channel has called."""
