"""Which agent answers where."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.config.bindings import BindingSettings
from openclaw_workers.engine.routing.addressing import Origin, SessionRules, session_for
from openclaw_workers.engine.routing.bindings import Place, bound_agent

PEER: dict[str, Any] = {"channel": "telegram", "peer": {"kind": "group", "id": "-100"}}
TOPIC: dict[str, Any] = {"channel": "telegram", "peer": {"kind": "group", "id": "-100:topic:3"}}
ACCOUNT: dict[str, Any] = {"channel": "telegram", "accountId": "work"}
CHANNEL: dict[str, Any] = {"channel": "telegram", "accountId": "*"}


def binding(agent: str, match: dict[str, Any]) -> BindingSettings:
    return BindingSettings.model_validate({"agentId": agent, "match": match})


def group(group_id: str = "-100", *, topic: str = "", account: str = "default") -> Place:
    return Place(channel="telegram", account_id=account, kind="group", peer_id=group_id, topic_id=topic)


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize(
    ("place", "agent"),
    [
        (group(topic="3"), "topic"),
        (group(topic="4"), "group"),
        (group(), "group"),
        (group("-200", account="work"), "account"),
        (group("-200"), "channel"),
        (Place(channel="telegram", peer_id="7"), "channel"),
        (Place(channel="cli", peer_id="7"), ""),
    ],
)
def test_the_most_specific_binding_wins_whatever_the_order(place: Place, agent: str, order: tuple[int, ...]) -> None:
    rows = [("topic", TOPIC), ("group", PEER), ("account", ACCOUNT), ("channel", CHANNEL)]
    bindings = [binding(*rows[index]) for index in order]

    assert bound_agent(bindings, place) == agent


def test_among_equals_the_first_in_the_file_wins() -> None:
    assert bound_agent([binding("one", CHANNEL), binding("two", CHANNEL)], group()) == "one"


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        ({"channel": "telegram", "peer": {"kind": "direct", "id": "7"}}, True),
        ({"channel": "telegram", "peer": {"kind": "dm", "id": 7}}, True),
        ({"channel": "Telegram", "peer": {"kind": "dm", "id": "7"}}, True),
        ({"channel": "telegram", "accountId": "work", "peer": {"kind": "dm", "id": "7"}}, False),
        ({"channel": "telegram", "accountId": "*", "peer": {"kind": "dm", "id": "7"}}, True),
        ({"channel": "telegram", "peer": {"kind": "group", "id": "7"}}, False),
        ({"channel": "discord", "peer": {"kind": "dm", "id": "7"}}, False),
        ({"channel": "telegram", "peer": {"kind": "dm", "id": "8"}}, False),
    ],
)
def test_every_condition_must_hold(match: dict[str, Any], matches: bool) -> None:
    place = Place(channel="telegram", peer_id="7")

    assert (bound_agent([binding("bound", match)], place) == "bound") is matches


def test_a_group_and_a_channel_are_the_same_kind_of_place() -> None:
    place = Place(channel="slack", kind="channel", peer_id="C1", thread_id="9")
    match = {"channel": "slack", "peer": {"kind": "group", "id": "C1"}}

    assert bound_agent([binding("bound", match)], place) == "bound"


def test_without_an_account_only_the_default_account_is_meant() -> None:
    bindings = [binding("bound", {"channel": "telegram"})]

    assert bound_agent(bindings, group()) == "bound"
    assert bound_agent(bindings, group(account="work")) == ""


def test_the_session_is_that_of_the_bound_agent_and_an_agent_asked_for_goes_first() -> None:
    rules = SessionRules(bindings=[binding("work", PEER)])
    origin = Origin(channel="telegram", chat="group", group_id="-100", peer_id="7")

    assert session_for(origin, rules) == "agent:work:telegram:group:-100"
    asked = Origin(channel="telegram", chat="group", group_id="-100", peer_id="7", agent_id="home")
    assert session_for(asked, rules) == "agent:home:telegram:group:-100"
    other = Origin(channel="telegram", chat="group", group_id="-200", peer_id="7")
    assert session_for(other, rules) == "agent:main:telegram:group:-200"


MATCHES = st.sampled_from([PEER, TOPIC, ACCOUNT, CHANNEL, {"channel": "telegram"}, {"channel": "cli"}])
PLACES = st.builds(
    Place,
    channel=st.sampled_from(["telegram", "cli"]),
    account_id=st.sampled_from(["default", "work"]),
    kind=st.sampled_from(["dm", "group"]),
    peer_id=st.sampled_from(["-100", "-200"]),
    topic_id=st.sampled_from(["", "3", "4"]),
)


@given(st.lists(MATCHES, max_size=6), PLACES)
def test_a_binding_less_never_gives_a_more_specific_answer(matches: list[dict[str, Any]], place: Place) -> None:
    """What is bound without the winner is never what a more specific binding says."""
    bindings = [binding(f"agent{index}", match) for index, match in enumerate(matches)]
    winner = bound_agent(bindings, place)
    if not winner:
        return
    alone = [each for each in bindings if each.agent_id == winner]
    assert bound_agent(alone, place) == winner
    assert bound_agent([*bindings, binding("late", alone[0].match.model_dump(by_alias=True))], place) == winner
