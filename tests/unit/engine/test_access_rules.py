"""Who is heard on a channel, and with which authority."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.messages import Authority
from openclaw_workers.engine.access.admission_rules import (
    Approvals,
    Heard,
    NotHeard,
    command_authority,
    in_direct_chat,
    in_group,
)
from openclaw_workers.engine.access.channel_settings import (
    ChannelRules,
    channel_rules,
    configured_people,
    has_configured_owner,
    is_listed,
    owners_of,
)

OWNER, PAIRED, LISTED, STRANGER = "1", "2", "3", "4"
DM_POLICIES = ("pairing", "allowlist", "open", "disabled")


def rules(telegram: dict[str, Any], **more: Any) -> ChannelRules:
    settings = Settings.model_validate({"channels": {"telegram": telegram}, **more})
    found = channel_rules(settings, "telegram", "default")
    assert found is not None
    return found


def heard_directly(sender: str, **telegram: Any) -> Authority | str:
    found = rules({"owners": [OWNER], "allowFrom": [LISTED], **telegram})
    approved = Approvals(person=sender == PAIRED)
    verdict = in_direct_chat(found, sender, found.owners, approved)
    return verdict.authority if isinstance(verdict, Heard) else verdict.reason


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("pairing", ["owner", "authorized", "authorized", "not-paired"]),
        ("allowlist", ["owner", "authorized", "authorized", "not-allowed"]),
        ("open", ["owner", "authorized", "authorized", "anyone"]),
        ("disabled", ["dm-disabled"] * 4),
    ],
)
def test_a_direct_message_is_heard_by_its_policy(policy: str, expected: list[str]) -> None:
    assert [heard_directly(sender, dmPolicy=policy) for sender in (OWNER, PAIRED, LISTED, STRANGER)] == expected


def test_a_star_lets_everybody_in_as_a_stranger() -> None:
    assert heard_directly(STRANGER, dmPolicy="allowlist", allowFrom=["*"]) == "anyone"
    assert heard_directly(LISTED, dmPolicy="allowlist", allowFrom=["*", LISTED]) == "authorized"


def heard_in_group(sender: str, *, group: bool = False, member: bool = False, **telegram: Any) -> Authority | str:
    found = rules({"owners": [OWNER], **telegram})
    approved = Approvals(person=sender == PAIRED, group=group, member=member)
    verdict = in_group(found, found.chat("-100", "3"), sender, found.owners, approved)
    return verdict.authority if isinstance(verdict, Heard) else verdict.reason


@pytest.mark.parametrize(
    ("sender", "telegram", "expected"),
    [
        (OWNER, {"groupPolicy": "disabled", "groups": {"-100": {}}}, "groups-disabled"),
        (OWNER, {"groups": {"-100": {"enabled": False}}}, "group-disabled"),
        (OWNER, {"groups": {"-100": {"topics": {"3": {"enabled": False}}}}}, "group-disabled"),
        (OWNER, {}, "group"),
        (OWNER, {"groups": {"-200": {}}}, "group"),
        (OWNER, {"groups": {"*": {}}}, "owner"),
        (OWNER, {"groupPolicy": "open"}, "owner"),
        (STRANGER, {"groups": {"-100": {}}}, "member"),
        (PAIRED, {"groups": {"-100": {}}}, "member"),
        (LISTED, {"groups": {"-100": {}}, "allowFrom": [LISTED]}, "authorized"),
        (LISTED, {"groups": {"-100": {}}, "allowFrom": [LISTED], "groupAllowFrom": [STRANGER]}, "member"),
        (STRANGER, {"groups": {"-100": {}}, "groupAllowFrom": [STRANGER]}, "authorized"),
        (STRANGER, {"groups": {"-100": {"allowFrom": [LISTED]}}, "groupAllowFrom": [STRANGER]}, "member"),
        (STRANGER, {"groups": {"-100": {"allowFrom": ["*"]}}}, "anyone"),
        (STRANGER, {"groups": {"-100": {"allowFrom": [LISTED], "topics": {"3": {"allowFrom": ["*"]}}}}}, "anyone"),
        (STRANGER, {"groups": {"*": {"allowFrom": ["*"]}, "-100": {"requireMention": False}}}, "anyone"),
        (STRANGER, {"groupPolicy": "open"}, "anyone"),
        (STRANGER, {"groupPolicy": "open", "groupAllowFrom": [LISTED]}, "member"),
        ("", {"groups": {"-100": {"allowFrom": [LISTED]}}}, "member"),
    ],
)
def test_in_a_group_the_group_comes_first_and_then_the_sender(
    sender: str, telegram: dict[str, Any], expected: str
) -> None:
    assert heard_in_group(sender, **telegram) == expected


def test_an_approved_group_is_as_a_listed_one_and_an_approved_member_is_authorized() -> None:
    assert heard_in_group(OWNER, group=True) == "owner"
    assert heard_in_group(STRANGER, group=True) == "member"
    assert heard_in_group(STRANGER, group=True, member=True) == "authorized"


def test_a_topic_and_a_group_inherit_what_they_leave_unset() -> None:
    groups = {
        "*": {"requireMention": False, "historyLimit": 7},
        "-100": {"agentId": "main", "topics": {"3": {"requireMention": True, "historyLimit": 0}}},
    }
    found = rules({"groups": groups})

    topic, group, other = found.chat("-100", "3"), found.chat("-100", "4"), found.chat("-200", "")
    assert (topic.require_mention, topic.history_limit, topic.agent_id) == (True, 0, "main")
    assert (group.require_mention, group.history_limit, group.agent_id) == (False, 7, "main")
    assert (other.require_mention, other.history_limit, other.agent_id) == (False, 7, "")
    assert rules({}, messages={"groupChat": {"historyLimit": 9}}).chat("-200", "").history_limit == 9


def test_an_account_has_its_own_rules_where_it_writes_them() -> None:
    telegram = {
        "dmPolicy": "open",
        "allowFrom": [LISTED],
        "owners": [OWNER],
        "groupPolicy": "open",
        "groups": {"-100": {}},
        "accounts": {
            "work": {"dmPolicy": "allowlist", "owners": [STRANGER], "groupPolicy": "disabled"},
            "home": {
                "allowFrom": [PAIRED],
                "groupAllowFrom": [PAIRED],
                "groups": {
                    "-200": {
                        "enabled": False,
                        "requireMention": False,
                        "historyLimit": 1,
                        "agentId": "main",
                        "topics": {"3": {"allowFrom": [STRANGER], "enabled": True, "requireMention": True}},
                    }
                },
            },
        },
    }
    settings = Settings.model_validate({"channels": {"telegram": telegram}})
    work = channel_rules(settings, "telegram", "work")

    assert work is not None
    assert (work.dm_policy, work.allow_from, work.owners) == ("allowlist", (LISTED,), (STRANGER,))
    assert (work.group_policy, work.chat("-100", "").is_listed) == ("disabled", True)
    home = channel_rules(settings, "telegram", "home")
    assert home is not None
    assert (home.dm_policy, home.allow_from, home.owners, home.group_policy) == ("open", (PAIRED,), (OWNER,), "open")
    group, topic = home.chat("-200", ""), home.chat("-200", "3")
    assert (group.enabled, group.require_mention, group.history_limit, group.agent_id) == (False, False, 1, "main")
    assert (topic.enabled, topic.require_mention, topic.allow_from) == (True, True, (STRANGER,))
    assert (group.allow_from, home.chat("-100", "").is_listed) == ((PAIRED,), False)
    assert channel_rules(settings, "telegram", "other") is None
    assert channel_rules(settings, "matrix", "default") is None


@pytest.mark.parametrize(
    ("settings", "owner"),
    [
        ({"agents": {"defaults": {"identity": {"ownerNumbers": ["7"]}}}}, True),
        ({"agents": {"defaults": {"identity": {"ownerNumbers": ["telegram:7"]}}}}, True),
        ({"agents": {"defaults": {"identity": {"ownerNumbers": ["discord:7"]}}}}, False),
        ({"agents": {"list": [{"id": "main"}, {"id": "work", "identity": {"ownerNumbers": ["7"]}}]}}, False),
        ({"agents": {"list": [{"id": "main", "identity": {"ownerNumbers": ["7"]}}, {"id": "work"}]}}, True),
        ({"commands": {"ownerAllowFrom": ["telegram:7"]}}, True),
        ({"channels": {"telegram": {"owners": [7]}}}, True),
        ({}, False),
    ],
)
def test_owners_are_named_for_an_agent_a_channel_or_all(settings: dict[str, Any], owner: bool) -> None:
    loaded = Settings.model_validate(settings)
    found = channel_rules(loaded, "telegram", "default")
    assert found is not None

    assert is_listed(owners_of(loaded, found, "main"), "telegram", "7") is owner
    assert has_configured_owner(loaded) is bool(settings)


def test_people_of_the_configuration_are_those_who_can_write_on_this_channel() -> None:
    loaded = Settings.model_validate(
        {
            "agents": {"defaults": {"identity": {"ownerNumbers": ["+1234567890", "8"]}}},
            "commands": {"ownerAllowFrom": ["telegram:7", "discord:6"]},
            "channels": {"telegram": {"allowFrom": ["5", "*"], "owners": ["4"]}},
        }
    )

    assert configured_people(loaded, "telegram", "default") == {"8", "7", "5", "4"}


@pytest.mark.parametrize(
    ("heard", "allow_from", "expected"),
    [
        ("authorized", {}, "authorized"),
        ("anyone", {}, "anyone"),
        ("authorized", {"telegram": ["8"]}, "anyone"),
        ("authorized", {"telegram": ["7"]}, "authorized"),
        ("authorized", {"*": ["telegram:7"]}, "authorized"),
        ("authorized", {"discord": ["7"]}, "anyone"),
        ("anyone", {"telegram": ["7"]}, "authorized"),
        ("owner", {"telegram": ["8"]}, "owner"),
    ],
)
def test_who_may_give_commands(heard: str, allow_from: dict[str, list[str]], expected: str) -> None:
    assert command_authority(Authority(heard), allow_from, "telegram", "7") == expected


@pytest.mark.parametrize(
    ("listed", "is_in"),
    [
        (["7"], True),
        ([" 7 "], True),
        (["telegram:7"], True),
        (["TELEGRAM:7"], True),
        (["discord:7"], False),
        (["*"], False),
        ([""], False),
        (["77"], False),
    ],
)
def test_a_list_names_people_by_id_or_by_channel_and_id(listed: list[str], is_in: bool) -> None:
    assert is_listed(listed, "telegram", "7") is is_in


def test_an_id_that_looks_like_another_channels_is_not_taken_for_it() -> None:
    assert not is_listed(["telegram:7"], "web", "telegram:7")
    assert not is_listed(["", "telegram:"], "telegram", "")


IDS = st.sampled_from([OWNER, PAIRED, LISTED, STRANGER, ""])
LISTS = st.lists(st.sampled_from([PAIRED, LISTED, "*"]), max_size=3)
APPROVALS = st.builds(Approvals, person=st.booleans(), group=st.booleans(), member=st.booleans())


POLICIES = st.fixed_dictionaries(
    {
        "owners": st.just([OWNER]),
        "dmPolicy": st.sampled_from(DM_POLICIES),
        "groupPolicy": st.sampled_from(["allowlist", "open", "disabled"]),
        "allowFrom": LISTS,
        "groupAllowFrom": LISTS,
    }
)


@given(IDS, POLICIES, APPROVALS)
def test_nobody_gets_more_than_was_given(sender: str, telegram: dict[str, Any], approved: Approvals) -> None:
    found = rules(telegram)
    allow, group_allow = telegram["allowFrom"], telegram["groupAllowFrom"]
    dm, group = telegram["dmPolicy"], telegram["groupPolicy"]
    direct = in_direct_chat(found, sender, found.owners, approved)
    grouped = in_group(found, found.chat("-100", ""), sender, found.owners, approved)

    for verdict in (direct, grouped):
        if isinstance(verdict, Heard) and verdict.authority is Authority.OWNER:
            assert sender == OWNER
    if isinstance(direct, Heard) and direct.authority is Authority.AUTHORIZED:
        assert approved.person or sender in allow
    if isinstance(grouped, Heard) and grouped.authority is Authority.AUTHORIZED:
        assert approved.member or sender in (*allow, *group_allow)
    if dm in ("pairing", "allowlist") and sender == STRANGER and "*" not in allow and not approved.person:
        assert isinstance(direct, NotHeard)
    if group == "allowlist" and not approved.group:
        assert isinstance(grouped, NotHeard)
