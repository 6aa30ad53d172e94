"""Which agent answers in a chat, by the configured bindings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from openclaw_workers.config.bindings import BindingMatchSettings, BindingSettings
from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT

ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a message was written."""

    channel: str
    account_id: str = DEFAULT_ACCOUNT
    kind: Literal["dm", "group", "channel"] = "dm"
    peer_id: str = ""
    """The person, or the group."""
    topic_id: str = ""
    thread_id: str = ""

    @property
    def exact_id(self) -> str:
        """The id of this very place; a topic or thread is named after its group."""
        for word, part in (("topic", self.topic_id), ("thread", self.thread_id)):
            if part:
                return f"{self.peer_id}:{word}:{part}"
        return self.peer_id


def bound_agent(bindings: Sequence[BindingSettings], place: Place) -> str:
    """The agent of the most specific binding; the first in the file among equals. Empty if none matches.

    The order is peer, parent peer (the group of a topic or thread), account, channel. Every condition that a binding
    names must hold.
    """
    here = [(_tier(binding.match, place), binding.agent_id) for binding in bindings]
    matching = [(tier, agent) for tier, agent in here if tier is not None]
    return min(matching, key=lambda found: found[0])[1] if matching else ""


def _tier(match: BindingMatchSettings, place: Place) -> int | None:
    if match.channel != place.channel.lower():
        return None
    if match.account_id not in (ANY, place.account_id or DEFAULT_ACCOUNT):
        return None
    if match.peer is None:
        return 3 if match.account_id == ANY else 2
    if (match.peer.kind == "dm") != (place.kind == "dm"):
        return None  # a group and a channel are the same kind of place
    if match.peer.id == place.exact_id:
        return 0
    return 1 if match.peer.id == place.peer_id else None
