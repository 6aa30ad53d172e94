"""The session-key grammar, also for ids that try to forge another session's key."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from openclaw_workers.domain import session_key as keys
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.opaque_ids import GRAMMAR_WORDS, MAX_ID_BYTES, escape_id, unescape_id
from openclaw_workers.domain.session_key import ChatType, DmScope, Kind, ParsedKey, normalise, parse_key
from openclaw_workers.errors import BadInput

given_few = settings(max_examples=60, deadline=None)
STORED = re.compile(r"agent:[a-z0-9][a-z0-9_-]*(:[A-Za-z0-9._@+%~-]+)+")

# Parts an attacker would build an id from, besides random text.
_fragments = st.lists(
    st.sampled_from(
        [
            *sorted(GRAMMAR_WORDS),
            ":",
            "%",
            "%3A",
            "%64m",
            "~",
            "main",
            "global",
            "node-",
            "run",
            "x",
            "1",
            " ",
            "\n",
            "\0",
        ]
    ),
    min_size=1,
    max_size=6,
).map("".join)
ids = st.one_of(_fragments, st.text(min_size=1, max_size=60), st.text("aZ:%", min_size=100, max_size=200))
agents = st.sampled_from(["main", "coder", "a", "x_1-y"])
channels = st.sampled_from(["telegram", "discord", "cli", "main", "global", "node-1", "run"])

BUILDERS: dict[str, Callable[[str, str, str, str], SessionKey]] = {
    "dm per-peer": lambda agent, channel, a, b: keys.dm_key(DmScope.PER_PEER, agent_id=agent, channel=channel, peer=a),
    "dm per-channel-peer": lambda agent, channel, a, b: keys.dm_key(
        DmScope.PER_CHANNEL_PEER, agent_id=agent, channel=channel, peer=a
    ),
    "dm per-account-channel-peer": lambda agent, channel, a, b: keys.dm_key(
        DmScope.PER_ACCOUNT_CHANNEL_PEER, agent_id=agent, channel=channel, peer=a, account_id=b
    ),
    "group": lambda agent, channel, a, b: keys.group_key(agent, channel, a),
    "topic": keys.topic_key,
    "channel": lambda agent, channel, a, b: keys.channel_key(agent, channel, a),
    "cron": lambda agent, channel, a, b: keys.cron_key(agent, a),
    "cron run": lambda agent, channel, a, b: keys.cron_key(agent, a, b),
    "hook": lambda agent, channel, a, b: keys.hook_key(agent, a),
    "node": lambda agent, channel, a, b: keys.node_key(agent, a),
    "subagent": lambda agent, channel, a, b: keys.subagent_key(agent, a),
    "thread of main": lambda agent, channel, a, b: keys.with_thread(keys.main_key(agent), a),
    "thread of group": lambda agent, channel, a, b: keys.with_thread(keys.group_key(agent, channel, a), b),
    "thread of topic": lambda agent, channel, a, b: keys.with_thread(keys.topic_key(agent, channel, a, b), a),
}
# Which of (channel, first id, second id) each builder writes into its key.
WRITES = {
    "dm per-peer": (1,),
    "dm per-channel-peer": (0, 1),
    "group": (0, 1),
    "channel": (0, 1),
    "cron": (1,),
    "cron run": (1, 2),
    "hook": (1,),
    "node": (1,),
    "subagent": (1,),
    "thread of main": (1,),
}
built = st.tuples(st.sampled_from(sorted(BUILDERS)), agents, channels, ids, ids)


def build(form: str, agent: str, channel: str, a: str, b: str) -> SessionKey:
    return BUILDERS[form](agent, channel, a, b)


def identity(form: str, agent: str, *parts: str) -> tuple[object, ...]:
    """What the key must depend on, and nothing else."""
    return form, agent, *(parts[index] for index in WRITES.get(form, (0, 1, 2)))


@given_few
@given(built)
def test_every_built_key_is_parsed_back_to_itself(case: tuple[str, str, str, str, str]) -> None:
    key = build(*case)

    assert parse_key(key).key == key
    assert normalise(key, default_agent="someone-else", main_key="main") == key


@given_few
@given(agents, channels, ids, ids)
def test_ids_survive_building_and_parsing(agent: str, channel: str, a: str, b: str) -> None:
    assume(not escape_id(a).startswith("~") and not escape_id(b).startswith("~"))
    assert parse_key(keys.with_thread(keys.topic_key(agent, channel, a, b), a)) == ParsedKey(
        agent_id=agent, kind=Kind.GROUP, channel=channel, peer=a, topic_id=b, thread_id=a
    )
    dm = keys.dm_key(DmScope.PER_ACCOUNT_CHANNEL_PEER, agent_id=agent, channel=channel, peer=a, account_id=b)
    assert parse_key(dm) == ParsedKey(agent_id=agent, kind=Kind.DM, channel=channel, peer=a, account_id=b)
    assert parse_key(keys.cron_key(agent, a, b)) == ParsedKey(agent_id=agent, kind=Kind.CRON, peer=a, run_id=b)
    assert parse_key(keys.node_key(agent, a)) == ParsedKey(agent_id=agent, kind=Kind.NODE, peer=a)


@given_few
@given(st.data(), built, st.sampled_from(sorted(BUILDERS)))
def test_no_id_forges_the_key_of_another_session(
    data: st.DataObject, victim: tuple[str, str, str, str, str], form: str
) -> None:
    # Given a session, and a peer whose ids are parts of its key, escaped or not
    key = build(*victim)
    known = data.draw(st.sampled_from([key, unquote(key), key.lower()]))
    cuts = st.integers(0, len(known))
    stolen = [known[slice(*sorted((data.draw(cuts), data.draw(cuts))))] or "x" for _ in range(2)]
    attack = (form, victim[1], victim[2], *stolen)

    # Then the peer reaches that session only if it is the same peer in the same place
    assert (build(*attack) == key) is (identity(*attack) == identity(*victim))


@given_few
@given(built, built)
def test_different_sessions_have_different_keys(
    one: tuple[str, str, str, str, str], other: tuple[str, str, str, str, str]
) -> None:
    assert (build(*one) == build(*other)) is (identity(*one) == identity(*other))


@given_few
@given(built)
def test_a_key_is_plain_text_of_bounded_length_with_no_foreign_grammar_word(
    case: tuple[str, str, str, str, str],
) -> None:
    form, agent, *_ = case
    key = build(*case)
    harmless = BUILDERS[form](agent, "telegram", "1", "2")

    assert STORED.fullmatch(key)
    assert len(key) <= 700
    words = [part for part in key.split(":") if part in GRAMMAR_WORDS]
    assert words == [part for part in harmless.split(":") if part in GRAMMAR_WORDS]
    assert key.count(":") == harmless.count(":")
    assert keys.classify(key) is keys.classify(harmless)
    assert keys.agent_of(key) == agent
    assert keys.is_subagent(key) is (form == "subagent")


@given_few
@given(st.one_of(ids, st.lists(_fragments, max_size=6).map(":".join)), st.sampled_from(["main", "home"]))
def test_any_typed_key_is_rejected_or_normalised_to_one_stored_form(typed: str, main_name: str) -> None:
    try:
        key = normalise(typed, default_agent="main", main_key=main_name)
    except BadInput:
        return
    assert STORED.fullmatch(key)
    assert normalise(key, default_agent="other", main_key=main_name) == key
    assert parse_key(key, main_key=main_name) == parse_key(parse_key(key, main_key=main_name).key, main_key=main_name)


def test_an_id_that_spells_the_hash_of_a_long_one_does_not_reach_its_session() -> None:
    long_id = "victim" * 40
    hashed = escape_id(long_id)

    assert hashed.startswith("~")
    assert keys.group_key("main", "telegram", str(hashed)) != keys.group_key("main", "telegram", long_id)


@given_few
@given(ids)
def test_escaping_is_reversible_until_it_hashes(raw: str) -> None:
    segment = escape_id(raw)

    assert len(segment) <= MAX_ID_BYTES
    assert ":" not in segment
    if not segment.startswith("~"):
        assert unescape_id(segment) == raw
    assert escape_id(unescape_id(segment)) == segment


@pytest.mark.parametrize(
    "raw", ["-1001234567890", "+49123", "user@example.org", "a.b_c", "C012ABC", "1706620800.000100"]
)
def test_ordinary_ids_stay_readable(raw: str) -> None:
    assert escape_id(raw) == raw


def test_an_id_that_is_half_an_emoji_survives() -> None:
    assert unescape_id(escape_id("a\ud83d")) == "a\ud83d"


def test_keys_are_spelled_as_in_the_articles() -> None:
    assert keys.main_key("main") == "agent:main:main"
    assert keys.main_key("main", "Home") == "agent:main:home"
    assert keys.global_key("main") == "agent:main:global"
    assert keys.group_key("main", "telegram", "-1001234567890") == "agent:main:telegram:group:-1001234567890"
    assert keys.topic_key("zu", "telegram", "-100", "3") == "agent:zu:telegram:group:-100:topic:3"
    assert keys.channel_key("main", "slack", "C1") == "agent:main:slack:channel:C1"
    assert keys.with_thread(SessionKey("agent:main:slack:channel:C1"), "17.5") == (
        "agent:main:slack:channel:C1:thread:17.5"
    )
    assert keys.cron_key("main", "daily") == "agent:main:cron:daily"
    assert keys.cron_key("main", "daily", "r1") == "agent:main:cron:daily:run:r1"
    assert keys.hook_key("main", "0f-1") == "agent:main:hook:0f-1"
    assert keys.node_key("main", "mac") == "agent:main:node-mac"
    assert keys.subagent_key("code-reviewer", "abc123") == "agent:code-reviewer:subagent:abc123"


@pytest.mark.parametrize(
    ("scope", "key"),
    [
        (DmScope.MAIN, "agent:main:main"),
        (DmScope.PER_PEER, "agent:main:dm:7"),
        (DmScope.PER_CHANNEL_PEER, "agent:main:telegram:dm:7"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, "agent:main:telegram:default:dm:7"),
    ],
)
def test_each_dm_scope_separates_what_its_name_says(scope: DmScope, key: str) -> None:
    assert keys.dm_key(scope, agent_id="main", channel="telegram", peer="7") == key


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("", "agent:ops:main"),
        ("  Main ", "agent:ops:main"),
        ("foo", "agent:ops:foo"),
        ("My Notes", "agent:ops:my%20notes"),
        ("100%", "agent:ops:100%25"),
        ("cron:daily", "agent:ops:cron:daily"),
        ("hook:1-2", "agent:ops:hook:1-2"),
        ("node-mac", "agent:ops:node-mac"),
        ("global", "agent:ops:global"),
        ("telegram:direct:7", "agent:ops:telegram:dm:7"),
        ("slack:room:C1", "agent:ops:slack:channel:C1"),
        ("agent:main:direct:7", "agent:main:dm:7"),
        ("AGENT:Main:Telegram:GROUP:Ab", "agent:main:telegram:group:Ab"),
        ("agent:main::main", "agent:main:main"),
        ("agent:code-reviewer:abc123", "agent:code-reviewer:abc123"),
        ("agent:main:main:heartbeat", "agent:main:main:heartbeat"),
        ("agent:main:subagent:a:subagent:b", "agent:main:subagent:a:subagent:b"),
    ],
)
def test_a_short_key_is_stored_under_its_agent(typed: str, stored: str) -> None:
    assert normalise(typed, default_agent="ops", main_key="main") == stored


def test_a_renamed_main_session_answers_to_both_names() -> None:
    for typed in ("", "main", "home", "agent:ops:main", "agent:ops:HOME", "%6Dain"):
        assert normalise(typed, default_agent="ops", main_key="home") == "agent:ops:home"
    assert keys.classify("agent:ops:home", main_key="home") is Kind.MAIN
    assert keys.classify("agent:ops:home") is Kind.OTHER


@pytest.mark.parametrize(
    "typed",
    [
        "agent",
        "agent:",
        "agent:main",
        "agent:-x:main",
        f"agent:{'a' * 65}:main",
        "dm",
        "telegram:group",
        "telegram:group:1:2",
        "telegram:group:1:topic",
        "cron:dm:5",
        "cron:a:b",
        "thread:5",
        "a:thread:b:thread:c",
        "subagent:a:b",
        "tele gram:group:1",
        "node-",
        "%6Eode-x",
        "%ff",
        ":".join("abcdefgh" * 130),
    ],
)
def test_a_key_that_matches_no_form_is_rejected_with_a_reason(typed: str) -> None:
    with pytest.raises(BadInput, match=r"expected|needs|fits none|match|UTF-8|longer|write"):
        normalise(typed, default_agent="main", main_key="main")


@pytest.mark.parametrize("raw", ["", "main", "cron:1", "hook:1", "telegram:group:1"])
def test_only_a_prefixed_key_parses_as_stored(raw: str) -> None:
    with pytest.raises(BadInput, match="expected agent:<agentId>:<rest>"):
        parse_key(raw)


@pytest.mark.parametrize("name", ["", "global", "node-1", "dm", "a:b", "a b", "x" * 65])
def test_a_main_key_that_looks_like_another_session_is_rejected(name: str) -> None:
    with pytest.raises(BadInput, match="mainKey"):
        keys.main_key("main", name)


@pytest.mark.parametrize(
    "call",
    [
        lambda: keys.group_key("main", "telegram", ""),
        lambda: keys.group_key("main", "", "1"),
        lambda: keys.group_key("main", "group", "1"),
        lambda: keys.group_key("main", "a:b", "1"),
        lambda: keys.group_key("Bad Agent", "telegram", "1"),
        lambda: keys.topic_key("main", "telegram", "1", ""),
        lambda: keys.with_thread(SessionKey("agent:main:main"), ""),
        lambda: keys.with_thread(SessionKey("agent:main:main:thread:1"), "2"),
        lambda: keys.cron_key("main", "job", ""),
        lambda: keys.dm_key(DmScope.PER_PEER, agent_id="main", channel="telegram", peer=""),
        lambda: keys.dm_key(DmScope.PER_CHANNEL_PEER, agent_id="main", channel="", peer="1"),
    ],
)
def test_a_missing_part_never_falls_back_to_a_wider_session(call: Callable[[], SessionKey]) -> None:
    with pytest.raises(BadInput):
        call()


@pytest.mark.parametrize(
    ("key", "kind", "chat"),
    [
        ("agent:main:main", Kind.MAIN, ChatType.DM),
        ("agent:main:main:thread:1", Kind.MAIN, ChatType.THREAD),
        ("agent:main:dm:1", Kind.DM, ChatType.DM),
        ("agent:main:telegram:group:1", Kind.GROUP, ChatType.GROUP),
        ("agent:main:telegram:group:1:topic:2", Kind.GROUP, ChatType.THREAD),
        ("agent:main:slack:channel:1", Kind.CHANNEL, ChatType.GROUP),
        ("agent:main:slack:channel:1:thread:2", Kind.CHANNEL, ChatType.THREAD),
        ("agent:main:cron:1:run:2", Kind.CRON, ChatType.DM),
        ("agent:main:hook:1", Kind.HOOK, ChatType.DM),
        ("agent:main:node-1", Kind.NODE, ChatType.DM),
        ("agent:main:subagent:1", Kind.SUBAGENT, ChatType.DM),
        ("agent:main:global", Kind.GLOBAL, ChatType.DM),
        ("agent:main:notes:today", Kind.OTHER, ChatType.DM),
    ],
)
def test_a_key_has_a_kind_and_a_chat_type(key: str, kind: Kind, chat: ChatType) -> None:
    assert keys.classify(key) is kind
    assert keys.chat_type(key) is chat


def test_depth_from_the_key_counts_markers_and_not_ids() -> None:
    assert keys.subagent_depth_from_key("agent:main:main") == 0
    assert keys.subagent_depth_from_key(keys.subagent_key("main", "u")) == 1
    assert keys.subagent_depth_from_key("agent:main:subagent:a:subagent:b") == 2
    assert keys.subagent_depth_from_key(keys.group_key("main", "telegram", "x:subagent:y")) == 0
    assert keys.subagent_depth_from_key(keys.group_key("main", "telegram", "subagent")) == 0


LINKS = {"Alice": ["telegram:111", "discord:Ali", "@alice:matrix.org"], "bob": ["222"]}


@pytest.mark.parametrize(
    ("channel", "peer", "name"),
    [
        ("telegram", "111", "alice"),
        ("discord", "ALI", "alice"),
        ("matrix", "@alice:matrix.org", "alice"),
        ("irc", "222", "bob"),
        ("discord", "111", "111"),
        ("telegram", "333", "333"),
    ],
)
def test_linked_ids_share_a_name_and_others_keep_theirs(channel: str, peer: str, name: str) -> None:
    assert keys.link_identity(LINKS, channel, peer) == name


def test_a_peer_whose_id_equals_a_linked_name_does_not_get_that_session() -> None:
    assert keys.link_identity(LINKS, "irc", "telegram:111") == "telegram:111"
    assert keys.link_identity(LINKS, "irc", "alice") == "irc:alice"
    assert keys.link_identity({"alice": ["", "irc:"]}, "irc", "") == ""
    assert keys.link_identity({"a": ["1"], "irc:a": ["2"]}, "irc", "a") == "irc:irc:a"


@pytest.mark.parametrize("links", [{"alice": ["telegram:1"]}, {"alice": ["1"], "irc:alice": ["2"]}])
def test_no_two_peers_with_ids_like_a_linked_name_share_a_session(links: dict[str, list[str]]) -> None:
    peers = ["alice", "irc:alice", "irc:irc:alice", "x:alice", "x:irc:alice", "malice", "alice:x"]
    names = [keys.link_identity(links, channel, peer) for channel in ("irc", "x") for peer in peers]

    assert len({*names}) == 2 * len(peers) - 2  # a peer unlike any linked name keeps its id on both channels
    assert {*names}.isdisjoint(links)


@given_few
@given(channels, ids)
def test_only_listed_ids_reach_a_linked_name(channel: str, peer: str) -> None:
    listed = {"telegram:111", "discord:ali", "@alice:matrix.org"}

    if keys.link_identity(LINKS, channel, peer) == "alice":
        assert {f"{channel}:{peer}".lower(), peer.lower()} & listed
