"""Chat channels."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from openclaw_workers.config.base import KeyedBy, PeerId, PeerIds, Secret, Section
from openclaw_workers.config.tools import ProviderToolPolicy


class TelegramGroupSettings(Section):
    enabled: StrictBool = True
    """Whether the bot listens in this group."""

    require_mention: StrictBool = True
    """Answer only when mentioned or replied to."""

    allow_from: PeerIds = ()
    """Senders the bot listens to; empty: those of groupAllowFrom."""

    tools: ProviderToolPolicy = ProviderToolPolicy()
    """Tools in this group."""


class TelegramSettings(Section):
    enabled: StrictBool = True
    """Whether the channel starts if it has a token."""

    bot_token: Secret | None = None
    """Token of the bot; TELEGRAM_BOT_TOKEN also sets it."""

    dm_policy: Literal["pairing", "allowlist", "open", "disabled"] = "pairing"
    """Who may send direct messages: paired people, allowFrom only, anyone, nobody."""

    allow_from: PeerIds = ()
    """Senders that may send direct messages without pairing."""

    group_policy: Literal["allowlist", "open", "disabled"] = "allowlist"
    """Which groups the bot listens to: listed ones, any, none."""

    group_allow_from: PeerIds = ()
    """Senders the bot listens to in groups; empty: those of allowFrom."""

    groups: Annotated[dict[PeerId, TelegramGroupSettings], KeyedBy("chatId")] = Field(default_factory=dict)
    """Groups by chat id (* for all others); may also be a list whose items have chatId."""


class ChannelsSettings(Section):
    telegram: TelegramSettings = TelegramSettings()
    """Telegram, by bot. Not in effect yet: there is only the command line."""
