"""The inbox of a session: what happens to messages that arrive while it is busy, and which ones in groups count."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StrictInt

from openclaw_workers.config.base import Section
from openclaw_workers.domain.messages import MOST_WAITING, DropPolicy, QueueMode


class QueueSettings(Section):
    mode: QueueMode = QueueMode.COLLECT
    """collect, followup, steer, steer-backlog, interrupt or reject; a session's own setting wins."""

    by_channel: dict[str, QueueMode] = Field(default_factory=dict)
    """Mode by channel name; wins over `mode`."""

    debounce_ms: StrictInt = Field(default=500, ge=0, le=86_400_000)
    """Milliseconds without a new message before the waiting ones are answered together."""

    debounce_ms_by_channel: dict[str, Annotated[StrictInt, Field(ge=0, le=86_400_000)]] = Field(default_factory=dict)
    """The same by channel name; wins over `debounceMs`."""

    cap: StrictInt = Field(default=20, ge=1, le=MOST_WAITING)
    """How many messages may wait in a session, up to 1000; beyond it `drop` applies."""

    drop: DropPolicy = DropPolicy.SUMMARIZE
    """What is dropped at the cap: old, new (the new message is rejected) or summarize (old, leaving a line each)."""


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from error
    return value


class GroupChatSettings(Section):
    mention_patterns: tuple[Annotated[str, AfterValidator(_pattern)], ...] = ()
    """Regular expressions (any case) that count as a mention of the bot in a group, such as \\bclaw\\b."""

    history_limit: StrictInt = Field(default=50, ge=0, le=1000)
    """How many messages that did not mention the bot are kept for its next turn in the group; 0 keeps none."""


class MessagesSettings(Section):
    queue: QueueSettings = QueueSettings.model_construct()
    """Messages that arrive while their session is busy."""

    group_chat: GroupChatSettings = GroupChatSettings.model_construct()
    """Messages in groups."""
