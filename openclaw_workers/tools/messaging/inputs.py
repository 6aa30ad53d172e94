"""The arguments of the messaging tools."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from openclaw_workers.tools.input import NonBlankText, ToolInput

MAX_CHOICES = 12
MAX_FILES = 10
MAX_ROWS = 10
DAY_SECONDS = 86_400


class AskInput(ToolInput):
    question: Annotated[NonBlankText, Field(max_length=3_000, validation_alias=AliasChoices("question", "text"))]
    """What you want to know, in one question."""

    choices: Annotated[
        list[Annotated[NonBlankText, Field(max_length=200)]],
        Field(max_length=MAX_CHOICES, validation_alias=AliasChoices("choices", "options")),
    ] = Field(default_factory=list)
    """Answers to choose from, shown as buttons; people may also answer in their own words. None: an open question."""

    timeout_seconds: Annotated[
        int, Field(ge=10, le=DAY_SECONDS, validation_alias=AliasChoices("timeoutSeconds", "timeout_seconds"))
    ] = 3_600
    """How long to wait for an answer."""


class ButtonInput(ToolInput):
    text: Annotated[NonBlankText, Field(max_length=100)]
    """What the button says."""
    data: Annotated[str, Field(max_length=1_000)] = ""
    """What pressing it says to you, in the name of whoever presses it."""
    url: Annotated[str, Field(max_length=2_000)] = ""
    """Opens this address instead."""

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if bool(self.data) == bool(self.url):
            raise ValueError("expected data or url")
        if self.data.lstrip().startswith("/"):
            raise ValueError("expected words as data, not a command: pressing it would give that command")
        return self


class MessageInput(ToolInput):
    action: Literal["send", "reply", "edit", "delete", "react", "topic-create"] = "send"
    """send: a new message. reply: an answer to messageId. edit, delete, react: to messageId. topic-create: a topic."""

    channel: str = ""
    """The channel, with to; unset: that of this session's chat."""

    to: Annotated[str, Field(validation_alias=AliasChoices("to", "target"))] = ""
    """The chat, by the channel's id; unset: this session's chat."""

    account_id: Annotated[str, Field(validation_alias=AliasChoices("accountId", "account_id"))] = ""
    """The bot, if the channel has several."""

    thread_id: Annotated[str, Field(validation_alias=AliasChoices("threadId", "thread_id"))] = ""
    """The topic or thread of the chat."""

    text: Annotated[str, Field(max_length=30_000, validation_alias=AliasChoices("text", "message", "content"))] = ""
    """What to say, in Markdown."""

    message_id: Annotated[str, Field(validation_alias=AliasChoices("messageId", "message_id", "replyTo"))] = ""
    """The message to reply to, change, remove or react to: the channel's id, or the id that send returned."""

    emoji: Annotated[str, Field(max_length=20)] = ""
    """For react; empty takes the reaction away."""

    name: Annotated[str, Field(max_length=128)] = ""
    """For topic-create: its name."""

    files: Annotated[
        list[str], Field(max_length=MAX_FILES, validation_alias=AliasChoices("files", "media", "attachments"))
    ] = Field(default_factory=list)
    """Files of the workspace to send, for send and reply."""

    buttons: Annotated[list[list[ButtonInput]], Field(max_length=MAX_ROWS)] = Field(default_factory=list)
    """Rows of buttons, for send, reply and edit."""

    @model_validator(mode="after")
    def _says_what_it_needs(self) -> Self:
        if self.action in ("send", "reply") and not self.text.strip() and not self.files:
            raise ValueError(f"{self.action} expects text or files")
        if self.action in ("reply", "edit", "delete", "react") and not self.message_id:
            raise ValueError(f"{self.action} expects messageId")
        if self.action == "edit" and not self.text.strip():
            raise ValueError("edit expects text")
        if self.action == "topic-create" and not self.name.strip():
            raise ValueError("topic-create expects name")
        if self.files and self.action not in ("send", "reply"):
            raise ValueError(f"{self.action} takes no files")
        return self
