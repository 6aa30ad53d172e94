"""The access rules of one account of a channel, from the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.config.channels import DmPolicy, GroupPolicy
from openclaw_workers.config.resolve import agent_ids, resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT

ANYONE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRules:
    """What holds in one group or topic."""

    is_listed: bool = False
    """The configuration names this group, or all."""
    enabled: bool = True
    require_mention: bool = True
    allow_from: Sequence[str] = ()
    agent_id: str = ""
    history_limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRules:
    """What holds for one account of a channel."""

    channel: str
    account_id: str
    dm_policy: DmPolicy
    allow_from: Sequence[str]
    group_policy: GroupPolicy
    group_allow_from: Sequence[str]
    owners: Sequence[str]
    """Owners whichever agent they write to."""
    groups: Mapping[str, Any] = field(default_factory=dict)
    history_limit: int = 0

    def chat(self, group_id: str, topic_id: str) -> ChatRules:
        """The rules of a group, or of one of its topics: what it leaves unset is as in the next larger place."""
        places = [self.groups.get(ANYONE), self.groups.get(group_id)]
        topics = [place.topics.get(topic_id) for place in places if place is not None and topic_id]
        given: dict[str, Any] = {}
        for place in filter(None, [*places, *topics]):
            own = {name: getattr(place, name) for name in place.model_fields_set}
            # An empty list stands for "as in the larger place", not for nobody.
            given |= {name: value for name, value in own.items() if name != "allow_from" or value}
        limit = given.get("history_limit")
        return ChatRules(
            is_listed=any(place is not None for place in places),
            enabled=given.get("enabled", True),
            require_mention=given.get("require_mention", True),
            allow_from=given.get("allow_from") or self.group_allow_from or self.allow_from,
            agent_id=given.get("agent_id") or "",
            history_limit=self.history_limit if limit is None else limit,
        )


def channel_rules(settings: Settings, channel: str, account_id: str) -> ChannelRules | None:
    """The rules of one account; None if no such account is configured."""
    section = getattr(settings.channels, channel, None)
    account = section.account(account_id) if section is not None else None
    if account is None:
        return None
    return ChannelRules(
        channel=channel,
        account_id=account_id,
        dm_policy=account.dm_policy,
        allow_from=account.allow_from,
        group_policy=account.group_policy,
        group_allow_from=account.group_allow_from,
        owners=(*account.owners, *settings.commands.owner_allow_from),
        groups=account.groups,
        history_limit=settings.messages.group_chat.history_limit,
    )


def owners_of(settings: Settings, rules: ChannelRules, agent_id: str) -> tuple[str, ...]:
    """The configured owners of an agent on this channel."""
    return (*rules.owners, *resolve_agent(settings, agent_id).identity.owner_numbers)


def has_configured_owner(settings: Settings) -> bool:
    """Whether the configuration names an owner anywhere."""
    agents = (resolve_agent(settings, agent).identity.owner_numbers for agent in agent_ids(settings))
    accounts = (account.owners for account in _accounts(settings))
    return any(settings.commands.owner_allow_from) or any(agents) or any(accounts)


def configured_people(settings: Settings, channel: str, account_id: str) -> set[str]:
    """Ids of people who may write directly to an account without being paired."""
    rules = channel_rules(settings, channel, account_id)
    if rules is None:
        return set()
    numbers = (resolve_agent(settings, agent).identity.owner_numbers for agent in agent_ids(settings))
    listed = [*rules.allow_from, *rules.owners, *(number for each in numbers for number in each)]
    # A phone number names nobody on a channel that has other ids.
    return {_bare(each, channel) for each in listed if not each.startswith("+")} - {ANYONE, ""}


def is_listed(listed: Iterable[str], channel: str, peer_id: str) -> bool:
    """Whether a list names somebody: by id, or as `channel:id`."""
    wanted = {f"{channel}:{peer_id}".lower()}
    # An id with a colon could pass for the `channel:id` of somebody else.
    if peer_id and ":" not in peer_id:
        wanted.add(peer_id.lower())
    return bool(peer_id) and not wanted.isdisjoint(each.strip().lower() for each in listed)


def _bare(listed: str, channel: str) -> str:
    """The id on this channel; empty if it is one of another channel."""
    prefix, colon, rest = listed.strip().lower().partition(":")
    if not colon:
        return prefix
    return rest if prefix == channel else ""


def _accounts(settings: Settings) -> Iterable[Any]:
    for name in type(settings.channels).model_fields:
        section: Any = getattr(settings.channels, name)
        for account_id in {DEFAULT_ACCOUNT, *section.accounts}:
            yield section.account(account_id)
