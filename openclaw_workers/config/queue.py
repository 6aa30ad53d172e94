"""What happens to messages that arrive while their session is busy."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictInt

from openclaw_workers.config.base import Section
from openclaw_workers.domain.messages import DropPolicy, QueueMode


class QueueSettings(Section):
    mode: QueueMode = QueueMode.COLLECT
    """collect, followup, steer, steer-backlog, interrupt or reject; a session's own choice wins."""

    by_channel: dict[str, QueueMode] = Field(default_factory=dict)
    """Mode by channel name, before `mode`."""

    debounce_ms: StrictInt = Field(default=500, ge=0, le=86_400_000)
    """Quiet time in milliseconds before waiting messages are answered together."""

    debounce_ms_by_channel: dict[str, Annotated[StrictInt, Field(ge=0, le=86_400_000)]] = Field(default_factory=dict)
    """Quiet time in milliseconds by channel name, before `debounceMs`."""

    cap: StrictInt = Field(default=20, ge=1)
    """Messages a session may have waiting before `drop` decides."""

    drop: DropPolicy = DropPolicy.SUMMARIZE
    """Which message gives way at the cap: old, new (the newcomer is refused) or summarize (old, with a line each)."""


class MessagesSettings(Section):
    queue: QueueSettings = QueueSettings()
    """Messages that find their session busy."""
