"""A message finds its session, and only its own."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_workers.domain.session_key import DmScope, Kind, parse_key
from openclaw_workers.engine.routing.addressing import Origin, SessionRules, named_session, session_for
from openclaw_workers.errors import BadInput

PLAIN = SessionRules()
PER_PEER = SessionRules(dm_scope=DmScope.PER_PEER)


@pytest.mark.parametrize(
    ("scope", "key"),
    [
        (DmScope.MAIN, "agent:main:main"),
        (DmScope.PER_PEER, "agent:main:dm:7"),
        (DmScope.PER_CHANNEL_PEER, "agent:main:telegram:dm:7"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, "agent:main:telegram:work:dm:7"),
    ],
)
def test_a_direct_message_goes_where_the_dm_scope_says(scope: DmScope, key: str) -> None:
    origin = Origin(channel="telegram", peer_id="7", account_id="work")

    assert session_for(origin, SessionRules(dm_scope=scope)) == key


@pytest.mark.parametrize(
    ("origin", "key"),
    [
        (
            Origin(channel="telegram", chat="group", group_id="-100", peer_id="7"),
            "agent:main:telegram:group:-100",
        ),
        (
            Origin(channel="telegram", chat="group", group_id="-100", topic_id="3"),
            "agent:main:telegram:group:-100:topic:3",
        ),
        (
            Origin(channel="telegram", chat="group", group_id="-100", topic_id="3", thread_id="9"),
            "agent:main:telegram:group:-100:topic:3:thread:9",
        ),
        (Origin(channel="slack", chat="channel", group_id="C1"), "agent:main:slack:channel:C1"),
        (
            Origin(channel="slack", chat="channel", group_id="C1", thread_id="17.5"),
            "agent:main:slack:channel:C1:thread:17.5",
        ),
        (Origin(channel="slack", peer_id="U1", thread_id="17.5"), "agent:main:main:thread:17.5"),
        (Origin(channel="telegram", peer_id="7", topic_id="2"), "agent:main:main:thread:2"),
        (
            Origin(channel="telegram", chat="group", group_id="1", agent_id="ops"),
            "agent:ops:telegram:group:1",
        ),
    ],
)
def test_groups_channels_threads_and_topics_each_have_their_session(origin: Origin, key: str) -> None:
    assert session_for(origin, PLAIN) == key


def test_the_main_key_and_the_default_agent_are_as_configured() -> None:
    rules = SessionRules(main_key="home", default_agent="ops")

    assert session_for(Origin(channel="cli"), rules) == "agent:ops:home"
    assert session_for(Origin(channel="cli", session_key="main"), rules) == "agent:ops:home"
    assert session_for(Origin(channel="cli", agent_id="coder"), rules) == "agent:coder:home"


@pytest.mark.parametrize("chat", ["dm", "group", "channel"])
def test_scope_global_is_one_session_per_agent(chat: Literal["dm", "group", "channel"]) -> None:
    rules = SessionRules(scope="global", dm_scope=DmScope.PER_PEER)
    origin = Origin(channel="telegram", chat=chat, peer_id="7", group_id="1", thread_id="2", topic_id="3")

    assert session_for(origin, rules) == "agent:main:global"
    routed = Origin(channel="telegram", chat=chat, peer_id="7", group_id="1", agent_id="ops")
    assert session_for(routed, rules) == "agent:ops:global"


@pytest.mark.parametrize("scope", ["per-sender", "global"])
def test_a_session_requested_by_name_wins_over_everything(scope: Literal["per-sender", "global"]) -> None:
    rules = SessionRules(scope=scope)

    assert session_for(Origin(channel="cli", session_key="foo"), rules) == "agent:main:foo"
    assert session_for(Origin(channel="cli", session_key=" Foo ", agent_id="ops"), rules) == "agent:ops:foo"
    assert session_for(Origin(channel="cli", session_key="agent:ops:foo"), rules) == "agent:ops:foo"
    assert session_for(Origin(channel="cli", session_key="main"), rules) == "agent:main:main"
    assert named_session("cron:daily", rules) == "agent:main:cron:daily"


def test_a_blank_session_name_is_no_name() -> None:
    assert session_for(Origin(channel="cli", session_key="  ", peer_id="7"), PER_PEER) == "agent:main:dm:7"


def test_one_agent_cannot_be_sent_into_the_session_of_another() -> None:
    with pytest.raises(BadInput, match="belongs to agent ops, not to coder"):
        session_for(Origin(channel="cli", session_key="agent:ops:foo", agent_id="coder"), PLAIN)


def test_linked_identities_meet_in_one_session_on_any_channel() -> None:
    rules = SessionRules(dm_scope=DmScope.PER_PEER, identity_links={"alice": ["telegram:111", "discord:222"]})

    assert session_for(Origin(channel="telegram", peer_id="111"), rules) == "agent:main:dm:alice"
    assert session_for(Origin(channel="discord", peer_id="222"), rules) == "agent:main:dm:alice"
    assert session_for(Origin(channel="discord", peer_id="111"), rules) == "agent:main:dm:111"
    assert session_for(Origin(channel="discord", peer_id="alice"), rules) == "agent:main:dm:discord%3Aalice"


def test_links_do_nothing_where_all_direct_messages_share_the_main_session() -> None:
    rules = SessionRules(identity_links={"alice": ["telegram:111"]})

    assert session_for(Origin(channel="telegram", peer_id="111"), rules) == "agent:main:main"


@pytest.mark.parametrize(
    ("origin", "rules"),
    [
        (Origin(channel="telegram"), PER_PEER),
        (Origin(channel="telegram", chat="group"), PLAIN),
        (Origin(channel="slack", chat="channel"), PLAIN),
        (Origin(channel="", chat="group", group_id="1"), PLAIN),
        (Origin(channel="cli", session_key="agent:main"), PLAIN),
    ],
)
def test_a_message_without_the_ids_its_scope_needs_is_refused(origin: Origin, rules: SessionRules) -> None:
    with pytest.raises(BadInput):
        session_for(origin, rules)


@settings(max_examples=100, deadline=None)
@given(
    peer=st.text(min_size=1, max_size=30)
    | st.sampled_from(["7:thread:1", "x:group:1", "alice", "telegram:111", "main"]),
    scope=st.sampled_from([scope for scope in DmScope if scope is not DmScope.MAIN]),
    thread=st.text(max_size=5),
)
def test_no_peer_reaches_a_session_outside_its_agents_direct_messages(peer: str, scope: DmScope, thread: str) -> None:
    rules = SessionRules(dm_scope=scope, identity_links={"alice": ["telegram:111"]})
    parsed = parse_key(session_for(Origin(channel="irc", peer_id=peer, thread_id=thread), rules))

    assert (parsed.agent_id, parsed.kind, parsed.thread_id) == ("main", Kind.DM, thread)
    assert parsed.channel == ("" if scope is DmScope.PER_PEER else "irc")
    assert parsed.peer != "alice"
