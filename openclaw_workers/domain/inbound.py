"""A message as a channel delivered it, before it is known who may be heard and which session it belongs to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.messages import Route

DEFAULT_ACCOUNT = "default"
"""The account of a channel that has one, or the one that is configured without a name."""

Given = Annotated[str, AfterValidator(replace_surrogates)]
"""Text that somebody outside has chosen."""

ChatKind = Literal["dm", "group", "channel"]


class ReplyContext(BaseModel):
    """What a message replies to or quotes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    message_id: Given = ""
    sender_name: Given = ""
    text: Given = ""
    """The text of that message, or the part of it that was quoted."""


class Inbound(BaseModel):
    """One message from one account of a channel. Ids are the channel's own; empty means there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    channel: str
    account_id: str = DEFAULT_ACCOUNT
    chat: ChatKind = "dm"
    chat_id: Given = ""
    """Where an answer goes: `Route.to`. In a group it is the group."""
    chat_title: Given = ""
    """The name of the group."""
    topic_id: Given = ""
    """The forum topic of the group."""
    topic_title: Given = ""
    thread_id: Given = ""
    """The thread, on channels that have threads outside of forum topics."""
    sender_id: Given = ""
    """The person. Only this is trusted to tell who wrote: names can be chosen and changed."""
    sender_name: Given = ""
    username: Given = ""
    message_id: Given = ""
    """Its number in the chat; the same each time the channel delivers it."""
    sent_at: int = 0
    """Milliseconds, by the clock of the channel."""
    text: Given = ""
    reply: ReplyContext | None = None
    mentions_bot: bool = False
    """The channel itself says that our bot is mentioned."""
    replies_to_bot: bool = False
    bot_name: str = ""
    """The name that `/command@name` and people call our bot by, without @."""
    capabilities: tuple[str, ...] = ()
    """What the channel can do, as the agent's prompt lists it."""

    @property
    def route(self) -> Route:
        """Where the answer goes."""
        thread = self.thread_id or self.topic_id
        return Route(channel=self.channel, to=self.chat_id, account_id=self.account_id, thread_id=thread)

    @property
    def is_group(self) -> bool:
        return self.chat != "dm"
