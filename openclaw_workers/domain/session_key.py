"""The session-key grammar: build, parse, normalise and classify keys.

A stored key is `agent:<agentId>:<rest>`, where rest is one of

    <mainKey>                                main session (and every DM under dmScope main)
    dm:<peer>                                DM, dmScope per-peer
    <channel>:dm:<peer>                      DM, dmScope per-channel-peer
    <channel>:<account>:dm:<peer>            DM, dmScope per-account-channel-peer
    <channel>:group:<id>[:topic:<topic>]     group, or one forum topic of it
    <channel>:channel:<id>                   room of a team chat
    cron:<job>[:run:<run>]                   scheduled job, or one run of it
    hook:<id>   node-<id>   global           webhook, node, the one session of scope `global`
    subagent:<id>[:subagent:<id>...]         spawned session
    <name>[:<name>...]                       a session someone named by hand

and any of them may end in `:thread:<id>`. The parser reads `direct` as `dm` and `room` as `channel`.

Ids come from outside. The builder functions take raw ids and escape them (see `opaque_ids`), so that no id can spell
another session's key. `parse_key` and `normalise` take whole keys.

Grammar words, agent ids, channels and names given by hand are lower-case. Ids keep their case, because on some
channels two ids differ only in case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.opaque_ids import GRAMMAR_WORDS, HashedId, escape_id, unescape_id
from openclaw_workers.errors import BadInput

DEFAULT_AGENT: Final = "main"
DEFAULT_MAIN_KEY: Final = "main"
MAX_KEY_BYTES: Final = 1024

_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_CHANNEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
_MAIN_KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_NODE: Final = "node-"


class Kind(StrEnum):
    """The kind of a session. A thread or topic has the kind of the chat it belongs to."""

    MAIN = "main"
    DM = "dm"
    GROUP = "group"
    CHANNEL = "channel"
    CRON = "cron"
    HOOK = "hook"
    NODE = "node"
    SUBAGENT = "subagent"
    GLOBAL = "global"
    OTHER = "other"


class ChatType(StrEnum):
    """The three types of chat that can have their own reset policy."""

    DM = "dm"
    GROUP = "group"
    THREAD = "thread"


class DmScope(StrEnum):
    """Which direct messages share a session."""

    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedKey:
    """The parts of a session key; ids are unescaped.

    Raises:
        BadInput: a part is missing or malformed.
    """

    agent_id: str
    kind: Kind
    channel: str = ""
    account_id: str = ""
    peer: str = ""
    """The id of the peer, group, channel, job, hook, node or sub-agent."""
    topic_id: str = ""
    thread_id: str = ""
    run_id: str = ""
    """One run of a cron job."""
    path: tuple[str, ...] = ()
    """The names of a main or named session, or the ids of a nested sub-agent's ancestors."""

    def __post_init__(self) -> None:
        if not _AGENT_ID.fullmatch(self.agent_id):
            raise BadInput(f"agent id {self.agent_id!r} does not match {_AGENT_ID.pattern}")
        if self.channel or self.account_id or self.kind in (Kind.GROUP, Kind.CHANNEL):
            _check_channel(self.channel)
        if len(self.key) > MAX_KEY_BYTES:
            raise BadInput(f"session key {self.key[:60]}... is longer than {MAX_KEY_BYTES} bytes; use a shorter name")

    @property
    def rest(self) -> str:
        """The part after `agent:<agentId>:`."""
        thread = ["thread", escape_id(self.thread_id)] if self.thread_id else []
        return ":".join([*self._base(), *thread])

    @property
    def key(self) -> SessionKey:
        """The stored form."""
        return SessionKey(f"agent:{self.agent_id}:{self.rest}")

    @property
    def chat_type(self) -> ChatType:
        if self.thread_id or self.topic_id:
            return ChatType.THREAD
        return ChatType.GROUP if self.kind in (Kind.GROUP, Kind.CHANNEL) else ChatType.DM

    def _base(self) -> list[str]:
        match self.kind:
            case Kind.MAIN | Kind.OTHER:
                parts = [escape_id(name) for name in self.path]
            case Kind.GLOBAL:
                parts = ["global"]
            case Kind.DM:
                where = [self.channel] if self.channel else []
                account = [escape_id(self.account_id)] if self.account_id else []
                parts = [*where, *account, "dm", escape_id(self.peer)]
            case Kind.GROUP | Kind.CHANNEL:
                topic = ["topic", escape_id(self.topic_id)] if self.topic_id else []
                parts = [self.channel, self.kind.value, escape_id(self.peer), *topic]
            case Kind.CRON:
                run = ["run", escape_id(self.run_id)] if self.run_id else []
                parts = ["cron", escape_id(self.peer), *run]
            case Kind.HOOK:
                parts = ["hook", escape_id(self.peer)]
            case Kind.NODE:
                parts = [_NODE + escape_id(self.peer)]
            case Kind.SUBAGENT:
                parts = [part for uuid in (*self.path, self.peer) for part in ("subagent", escape_id(uuid))]
        return parts


def _check_channel(channel: str) -> None:
    if not _CHANNEL.fullmatch(channel) or channel in GRAMMAR_WORDS:
        raise BadInput(
            f"channel {channel!r} cannot be part of a session key; "
            f"expected {_CHANNEL.pattern} and none of {', '.join(sorted(GRAMMAR_WORDS))}"
        )


def check_main_key(raw: str) -> str:
    """Return `session.mainKey` in its stored form.

    Raises:
        BadInput: it is not a plain word, or it looks like another kind of session.
    """
    name = raw.strip().lower()
    if not _MAIN_KEY.fullmatch(name) or name in GRAMMAR_WORDS or name == "global" or name.startswith(_NODE):
        raise BadInput(
            f"mainKey {raw!r} cannot name the main session; expected {_MAIN_KEY.pattern}, "
            f"not `global`, not `node-...`, and none of {', '.join(sorted(GRAMMAR_WORDS))}"
        )
    return name


def main_key(agent_id: str, main_key: str = DEFAULT_MAIN_KEY) -> SessionKey:
    return ParsedKey(agent_id=agent_id, kind=Kind.MAIN, path=(check_main_key(main_key),)).key


def global_key(agent_id: str) -> SessionKey:
    return ParsedKey(agent_id=agent_id, kind=Kind.GLOBAL).key


def dm_key(
    scope: DmScope,
    *,
    agent_id: str,
    channel: str,
    peer: str,
    account_id: str = "",
    main_key: str = DEFAULT_MAIN_KEY,
) -> SessionKey:
    """Return the session key for a direct message; without an account, use the account `default`.

    Raises:
        BadInput: the scope separates peers and there is no peer. It never falls back to the main session,
            because that would give a stranger the owner's conversation.
    """
    account = ""
    match scope:
        case DmScope.MAIN:
            return ParsedKey(agent_id=agent_id, kind=Kind.MAIN, path=(check_main_key(main_key),)).key
        case DmScope.PER_PEER:
            return ParsedKey(agent_id=agent_id, kind=Kind.DM, peer=peer).key
        case DmScope.PER_ACCOUNT_CHANNEL_PEER:
            account = account_id or "default"
    _check_channel(channel)
    return ParsedKey(agent_id=agent_id, kind=Kind.DM, channel=channel, account_id=account, peer=peer).key


def group_key(agent_id: str, channel: str, group_id: str) -> SessionKey:
    return ParsedKey(agent_id=agent_id, kind=Kind.GROUP, channel=channel, peer=group_id).key


def topic_key(agent_id: str, channel: str, group_id: str, topic_id: str) -> SessionKey:
    topic = _present(topic_id, "topic")
    return ParsedKey(agent_id=agent_id, kind=Kind.GROUP, channel=channel, peer=group_id, topic_id=topic).key


def channel_key(agent_id: str, channel: str, channel_id: str) -> SessionKey:
    return ParsedKey(agent_id=agent_id, kind=Kind.CHANNEL, channel=channel, peer=channel_id).key


def with_thread(base: SessionKey, thread_id: str) -> SessionKey:
    """Return the session key for one thread of a conversation.

    Raises:
        BadInput: there is no thread id, or the base is already a thread.
    """
    parsed = parse_key(base)
    if parsed.thread_id:
        raise BadInput(f"{base} is already a thread; a thread cannot have threads")
    return replace(parsed, thread_id=_present(thread_id, "thread")).key


def cron_key(agent_id: str, job_id: str, run_id: str | None = None) -> SessionKey:
    """Return the session key for a job, or for one run of it."""
    run = "" if run_id is None else _present(run_id, "run")
    return ParsedKey(agent_id=agent_id, kind=Kind.CRON, peer=job_id, run_id=run).key


def hook_key(agent_id: str, hook_id: str) -> SessionKey:
    return ParsedKey(agent_id=agent_id, kind=Kind.HOOK, peer=hook_id).key


def node_key(agent_id: str, node_id: str) -> SessionKey:
    return ParsedKey(agent_id=agent_id, kind=Kind.NODE, peer=node_id).key


def subagent_key(agent_id: str, uuid: str) -> SessionKey:
    """Return a spawned session's key. It is flat at any depth; the session row holds parent and depth."""
    return ParsedKey(agent_id=agent_id, kind=Kind.SUBAGENT, peer=uuid).key


def _present(raw: str, what: str) -> str:
    if not raw:
        raise BadInput(f"a session key needs a {what} id here, and it is empty")
    return raw


@lru_cache(maxsize=4096)
def parse_key(raw: str, *, main_key: str = DEFAULT_MAIN_KEY) -> ParsedKey:
    """Parse a stored key. Empty parts are dropped; `main` always means the main session.

    Raises:
        BadInput: it does not start with `agent:<agentId>:`, or the rest matches no form.
    """
    parts = [part for part in raw.strip().split(":") if part]
    if len(parts) < 3 or parts[0].lower() != "agent":
        raise BadInput(f"{raw!r} is not a stored session key; expected agent:<agentId>:<rest>, such as agent:main:main")
    agent_id = parts[1].lower()
    rest = [part.lower() if part.lower() in GRAMMAR_WORDS else part for part in parts[2:]]
    thread_id = ""
    if len(rest) > 2 and rest[-2] == "thread":
        thread_id = unescape_id(rest[-1])
        del rest[-2:]
    parsed = _parse_structure(agent_id, rest) or _parse_names(agent_id, rest, check_main_key(main_key))
    return replace(parsed, thread_id=thread_id) if thread_id else parsed


def _parse_structure(agent_id: str, rest: list[str]) -> ParsedKey | None:
    """Parse the forms that contain grammar words."""
    channel = account = topic = run = ""
    above: list[str] = []
    match rest:
        case ["cron", peer]:
            kind = Kind.CRON
        case ["cron", peer, word, run] if word.lower() == "run":
            kind = Kind.CRON
        case ["hook", peer]:
            kind = Kind.HOOK
        case ["subagent", *_] if len(rest) % 2 == 0 and set(rest[::2]) == {"subagent"}:
            kind = Kind.SUBAGENT
            *above, peer = rest[1::2]
        case ["dm" | "direct", peer]:
            kind = Kind.DM
        case [channel, "dm" | "direct", peer]:
            kind = Kind.DM
        case [channel, account, "dm" | "direct", peer]:
            kind = Kind.DM
        case [channel, "group", peer]:
            kind = Kind.GROUP
        case [channel, "group", peer, "topic", topic]:
            kind = Kind.GROUP
        case [channel, "channel" | "room", peer]:
            kind = Kind.CHANNEL
        case _:
            return None
    return ParsedKey(
        agent_id=agent_id,
        kind=kind,
        channel=channel.lower(),
        account_id=unescape_id(account),
        peer=unescape_id(peer),
        topic_id=unescape_id(topic),
        run_id=unescape_id(run),
        path=tuple(unescape_id(part) for part in above),
    )


def _parse_names(agent_id: str, rest: list[str], main_key: str) -> ParsedKey:
    """Parse the forms without grammar words: main, global, node, and names given by hand."""
    if not GRAMMAR_WORDS.isdisjoint(rest):
        raise BadInput(
            f"{':'.join(rest)!r} uses a word of the session-key grammar but matches none of its forms",
            hint="write <channel>:dm:<peer>, <channel>:group:<id>[:topic:<id>], <channel>:channel:<id>, "
            "cron:<id>, hook:<id>, subagent:<id> (each may end in :thread:<id>), or a plain name",
        )
    names = tuple(_name(part) for part in rest)
    if names in ((DEFAULT_MAIN_KEY,), (main_key,)):
        return ParsedKey(agent_id=agent_id, kind=Kind.MAIN, path=(main_key,))
    if names == ("global",):
        return ParsedKey(agent_id=agent_id, kind=Kind.GLOBAL)
    if len(rest) == 1 and rest[0].lower().startswith(_NODE):
        return ParsedKey(agent_id=agent_id, kind=Kind.NODE, peer=unescape_id(rest[0][len(_NODE) :]))
    if len(names) == 1 and names[0].startswith(_NODE):
        raise BadInput(f"{rest[0]!r} hides a node key behind escapes; write {names[0]!r}")
    return ParsedKey(agent_id=agent_id, kind=Kind.OTHER, path=names)


def _name(part: str) -> str:
    name = unescape_id(part.lower())
    return name if isinstance(name, HashedId) else name.lower()


def normalise(raw: str, *, default_agent: str, main_key: str = DEFAULT_MAIN_KEY) -> SessionKey:
    """Turn a key that a person or a policy wrote into its stored form; a stored key does not change.

    An empty key and `main` mean the main session. A key that starts with `agent:` gets its stored spelling. Anything
    else (`notes`, `cron:<id>`, `hook:<id>`, `node-<id>`, `global`) belongs to the default agent.

    Raises:
        BadInput: it matches no form.
    """
    wanted = raw.strip().strip(":")
    if wanted.lower() != "agent" and not wanted.lower().startswith("agent:"):
        wanted = f"agent:{default_agent}:{wanted or DEFAULT_MAIN_KEY}"
    return parse_key(wanted, main_key=main_key).key


def classify(key: str, *, main_key: str = DEFAULT_MAIN_KEY) -> Kind:
    return parse_key(key, main_key=main_key).kind


def chat_type(key: str) -> ChatType:
    """Which reset policy applies: a topic counts as a thread, a channel as a group, anything else as a dm."""
    return parse_key(key).chat_type


def agent_of(key: str) -> str:
    return parse_key(key).agent_id


def is_subagent(key: str) -> bool:
    return parse_key(key).kind is Kind.SUBAGENT


def subagent_depth_from_key(key: str) -> int:
    """Count the sub-agents in a key. Use it only as a fallback: the session row holds the real depth."""
    return parse_key(key).rest.split(":").count("subagent")


def link_identity(links: Mapping[str, Sequence[str]], channel: str, peer: str) -> str:
    """Return the person's name for a peer listed in `session.identityLinks`, or the peer itself.

    `links` maps a name to ids, each written `channel:id` or bare. A listed `telegram:1` matches only that Telegram id,
    not a peer called `telegram:1` on another channel. A peer whose id happens to equal a linked name must not share
    that person's session: it gets its channel as a prefix. A peer that already carries such a prefix gets another one,
    so that the two do not collide.
    """
    if not peer:
        return peer
    wanted = {f"{channel}:{peer}".lower()}
    prefix, colon, _ = peer.lower().partition(":")
    if not (colon and _CHANNEL.fullmatch(prefix)):
        wanted.add(peer.lower())
    for name, ids in links.items():
        if not wanted.isdisjoint(listed.strip().lower() for listed in ids):
            return name.strip().lower()
    names = {name.strip().lower() for name in links}
    if not any(f":{peer}".lower().endswith(f":{name}") for name in names):
        return peer
    before = f"{channel}:"
    while any(name.startswith(before.lower()) for name in names):
        before += f"{channel}:"
    return f"{before}{peer}"
