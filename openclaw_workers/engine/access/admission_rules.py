"""Who is heard, and with which authority: pure rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from openclaw_workers.domain.messages import Authority
from openclaw_workers.engine.access.channel_settings import ANYONE, ChannelRules, ChatRules, is_listed

Reason = Literal["dm-disabled", "not-paired", "not-allowed", "groups-disabled", "group-disabled", "group", "member"]


@dataclass(frozen=True, slots=True)
class Heard:
    authority: Authority


@dataclass(frozen=True, slots=True)
class NotHeard:
    reason: Reason

    @property
    def may_pair(self) -> bool:
        return self.reason == "not-paired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """What was approved with `ocw pairing`, as far as it is about one message."""

    person: bool = False
    owner: bool = False
    group: bool = False
    member: bool = False


def in_direct_chat(rules: ChannelRules, sender_id: str, owners: Sequence[str], approved: Approvals) -> Heard | NotHeard:
    if rules.dm_policy == "disabled":
        return NotHeard("dm-disabled")
    if approved.owner or is_listed(owners, rules.channel, sender_id):
        return Heard(Authority.OWNER)
    if approved.person or is_listed(rules.allow_from, rules.channel, sender_id):
        return Heard(Authority.AUTHORIZED)
    # After the lists: an open chat lets everybody be heard, but gives nobody authority.
    if rules.dm_policy == "open" or ANYONE in rules.allow_from:
        return Heard(Authority.ANYONE)
    return NotHeard("not-paired" if rules.dm_policy == "pairing" else "not-allowed")


def in_group(
    rules: ChannelRules, chat: ChatRules, sender_id: str, owners: Sequence[str], approved: Approvals
) -> Heard | NotHeard:
    """The group comes first, then the sender. Being paired counts in direct chats only; an owner is one everywhere."""
    if closed := _closed(rules, chat, approved):
        return closed
    if approved.owner or is_listed(owners, rules.channel, sender_id):
        return Heard(Authority.OWNER)
    if approved.member or is_listed(chat.allow_from, rules.channel, sender_id):
        return Heard(Authority.AUTHORIZED)
    if ANYONE in chat.allow_from or (rules.group_policy == "open" and not chat.allow_from):
        return Heard(Authority.ANYONE)
    return NotHeard("member")


def _closed(rules: ChannelRules, chat: ChatRules, approved: Approvals) -> NotHeard | None:
    if rules.group_policy == "disabled":
        return NotHeard("groups-disabled")
    if not chat.enabled:
        return NotHeard("group-disabled")
    if rules.group_policy == "allowlist" and not (chat.is_listed or approved.group):
        return NotHeard("group")
    return None


def command_authority(
    heard: Authority, allow_from: Mapping[str, Sequence[str]], channel: str, sender_id: str
) -> Authority:
    """With which authority somebody gives commands: if `commands.allowFrom` names anyone, only those and owners."""
    if heard is Authority.OWNER or not allow_from:
        return heard
    listed = [*allow_from.get(channel, ()), *allow_from.get(ANYONE, ())]
    may = ANYONE in listed or is_listed(listed, channel, sender_id)
    return Authority.AUTHORIZED if may else Authority.ANYONE
