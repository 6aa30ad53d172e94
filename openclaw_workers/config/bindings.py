"""Which agent answers in which chat, and who may give commands."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from openclaw_workers.config.base import AgentId, PeerId, PeerIds, Section
from openclaw_workers.config.identity import OwnerIds
from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT

ChannelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", to_lower=True)]


def _dm(value: object) -> object:
    return "dm" if value == "direct" else value


class PeerMatchSettings(Section):
    kind: Annotated[
        Literal["dm", "group", "channel"],
        BeforeValidator(_dm, json_schema_input_type=Literal["dm", "direct", "group", "channel"]),
    ]
    """dm (or direct), group or channel; group and channel mean the same."""

    id: PeerId
    """The person, or the group; one forum topic of it is written <group>:topic:<topic>."""


class BindingMatchSettings(Section):
    channel: ChannelName
    """Channel name, such as telegram, cli or http."""

    account_id: PeerId = DEFAULT_ACCOUNT
    """Account of the channel; * means any."""

    peer: PeerMatchSettings | None = None
    """One person or group. A group also stands for its topics and threads, unless these are bound themselves."""


class BindingSettings(Section):
    agent_id: AgentId
    """Agent that answers."""

    match: BindingMatchSettings
    """All given conditions must hold. A peer wins over its group, that over an account, that over a channel."""


def _known_places(lists: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {channel.strip().lower(): ids for channel, ids in lists.items()}


class CommandsSettings(Section):
    allow_from: Annotated[dict[str, PeerIds], AfterValidator(_known_places)] = Field(default_factory=dict)
    """By channel name (* for every channel): senders who may give slash commands, besides owners. Unset: everyone who
    is paired or listed in allowFrom."""

    owner_allow_from: OwnerIds = ()
    """Owners on every channel, as id or channel:id."""
