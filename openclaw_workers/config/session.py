"""How messages are assigned to sessions, and when sessions are reset or removed."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import MAX_DURATION_SECONDS, Duration, PeerIds, Section
from openclaw_workers.domain.session_key import ChatType, DmScope, check_main_key
from openclaw_workers.errors import BadInput


class ResetSettings(Section):
    mode: Literal["daily", "idle", "none"] = "daily"
    """daily: at atHour; idle: after idleMinutes; none: only by hand. Mode daily also applies idleMinutes."""

    at_hour: StrictInt = Field(default=4, ge=0, le=23)
    """Hour of the daily reset, 0 to 23, in the agent's userTimezone."""

    idle_minutes: StrictInt | None = Field(default=None, ge=1, le=MAX_DURATION_SECONDS // 60)
    """Minutes without a message after which a session is reset; unset means never."""

    @model_validator(mode="after")
    def _idle_has_minutes(self) -> Self:
        if self.mode == "idle" and self.idle_minutes is None:
            raise ValueError("expected idleMinutes when mode is idle")
        return self


class ResetByTypeSettings(Section):
    dm: ResetSettings | None = None
    """Direct chats, main session included; may also be written as direct."""

    group: ResetSettings | None = None
    """Groups and channels."""

    thread: ResetSettings | None = None
    """Threads and forum topics."""


class SendMatchSettings(Section):
    channel: str | None = None
    """Channel name."""

    chat_type: Literal["dm", "direct", "group", "channel", "thread"] | None = None
    """Type of chat."""

    key_prefix: str | None = None
    """Start of the session key, with or without its agent:<id>: part."""

    raw_key_prefix: str | None = None
    """Start of the whole session key."""


class SendRuleSettings(Section):
    action: Literal["allow", "deny"]
    """What happens on a match; any matching deny wins."""

    match: SendMatchSettings = SendMatchSettings.model_construct()
    """All given conditions must match; without conditions everything matches."""


class SendPolicySettings(Section):
    rules: tuple[SendRuleSettings, ...] = ()
    """Rules in order."""

    default: Literal["allow", "deny"] = "allow"
    """What happens if no rule matches."""


class PingPongSettings(Section):
    max_ping_pong_turns: StrictInt = Field(default=5, ge=0, le=20)
    """How many turns two sessions may reply to each other after one sessions_send."""


class MaintenanceSettings(Section):
    mode: Literal["enforce", "warn"] = "enforce"
    """enforce removes unused and surplus sessions; warn only reports them."""

    prune_after: Duration = timedelta(days=30)
    """A session is archived and removed this long after its last use, such as 30d. Main sessions, groups and threads
    stay; only their transcripts are archived."""

    max_entries: StrictInt = Field(default=500, ge=1)
    """Sessions kept per agent; the least recently used are removed first, but no direct chats."""

    reset_archive_retention: Duration | None = None
    """How long archived transcripts are kept on disk, such as 365d; unset: for good."""


def _main_key(value: str) -> str:
    try:
        return check_main_key(value)
    except BadInput as error:
        raise ValueError(f"expected a plain name: {error.message}") from error


def _each_id_once(links: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """If two people shared an id, one would see the other's conversation."""
    owners: dict[str, str] = {}
    for name, ids in links.items():
        for listed in ids:
            owner = owners.setdefault(listed.strip().lower(), name)
            if owner != name:
                raise ValueError(f"expected each id for one person only, but {listed} is listed for {owner} and {name}")
    return links


class SessionSettings(Section):
    scope: Literal["per-sender", "global"] = "per-sender"
    """per-sender: sessions by dmScope and chat; global: one session per agent for everything."""

    main_key: Annotated[str, AfterValidator(_main_key)] = "main"
    """Last part of the main session's key."""

    dm_scope: DmScope = DmScope.MAIN
    """Which direct chats share a session: main, per-peer, per-channel-peer, per-account-channel-peer."""

    identity_links: Annotated[
        dict[Annotated[str, StringConstraints(pattern=r"\S")], PeerIds], AfterValidator(_each_id_once)
    ] = Field(default_factory=dict)
    """People with several channels: a name, and the ids (channel:id or id) of that person."""

    reset: ResetSettings = ResetSettings.model_construct()
    """When a session is reset."""

    reset_by_type: ResetByTypeSettings = ResetByTypeSettings.model_construct()
    """The same by type of chat; wins over reset."""

    reset_by_channel: dict[str, ResetSettings] = Field(default_factory=dict)
    """The same by channel name; wins over resetByType."""

    reset_triggers: tuple[Annotated[str, StringConstraints(pattern=r"^\S+$")], ...] = ("/new", "/reset")
    """Words that reset the session when a message begins with them."""

    send_policy: SendPolicySettings = SendPolicySettings.model_construct()
    """Which sessions may send to their chat; `/send on|off|inherit` decides for one session."""

    agent_to_agent: PingPongSettings = PingPongSettings.model_construct()
    """Conversations between sessions."""

    maintenance: MaintenanceSettings | None = None
    """What happens to unused sessions. Unset: `mode: warn` with the defaults, so they are only reported."""

    def reset_for(self, chat_type: ChatType, channel: str) -> ResetSettings:
        """The reset policy of one chat: by channel, else by type, else the general one."""
        by_type: ResetSettings | None = getattr(self.reset_by_type, chat_type)
        return self.reset_by_channel.get(channel) or by_type or self.reset
