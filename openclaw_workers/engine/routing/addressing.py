"""From a message to the session it belongs to.

Scope `global` puts all messages of an agent into `agent:<agentId>:global`, whatever chat, thread or topic
they came from; without routing that is the default agent. It stays one session per agent, because nothing may
cross from one agent's sessions to another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from openclaw_workers.config.bindings import BindingSettings
from openclaw_workers.config.resolve import default_agent_id
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import (
    DEFAULT_AGENT,
    DEFAULT_MAIN_KEY,
    DmScope,
    agent_of,
    channel_key,
    dm_key,
    global_key,
    group_key,
    link_identity,
    normalise,
    topic_key,
    with_thread,
)
from openclaw_workers.engine.routing.bindings import Place, bound_agent
from openclaw_workers.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """The settings that sort messages into sessions."""

    scope: Literal["per-sender", "global"] = "per-sender"
    dm_scope: DmScope = DmScope.MAIN
    main_key: str = DEFAULT_MAIN_KEY
    identity_links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    default_agent: str = DEFAULT_AGENT
    bindings: Sequence[BindingSettings] = ()

    @property
    def shares_direct_chats(self) -> bool:
        """Whether all people who write to an agent directly are in one conversation."""
        return self.scope == "global" or self.dm_scope is DmScope.MAIN


def session_rules(settings: Settings) -> SessionRules:
    rules = settings.session
    return SessionRules(
        scope=rules.scope,
        dm_scope=rules.dm_scope,
        main_key=rules.main_key,
        identity_links=rules.identity_links,
        default_agent=default_agent_id(settings),
        bindings=settings.bindings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a message comes from, as its channel tells it. Ids are raw; empty means there is none."""

    channel: str
    chat: Literal["dm", "group", "channel"] = "dm"
    account_id: str = ""
    peer_id: str = ""
    group_id: str = ""
    """The group, or the channel of a team chat."""
    topic_id: str = ""
    thread_id: str = ""
    session_key: str = ""
    """Asked for by name, as in `ocw agent --session notes`; goes before everything else."""
    agent_id: str = ""
    """A stored agent id that was asked for; otherwise the key's agent, the bound one, or the default."""

    @property
    def place(self) -> Place:
        return Place(
            channel=self.channel,
            account_id=self.account_id,
            kind=self.chat,
            peer_id=self.peer_id if self.chat == "dm" else self.group_id,
            topic_id=self.topic_id,
            thread_id=self.thread_id,
        )


TERMINAL = "cli"
"""The channel of commands that people type on the machine of the installation."""


def terminal_origin(user: str, *, session_key: str = "", agent_id: str = "") -> Origin:
    return Origin(channel=TERMINAL, account_id="local", peer_id=user, session_key=session_key, agent_id=agent_id)


def agent_for(origin: Origin, rules: SessionRules) -> str:
    """The agent a message is for: the one that was asked for, else the bound one, else the default."""
    return origin.agent_id or bound_agent(rules.bindings, origin.place) or rules.default_agent


def session_for(origin: Origin, rules: SessionRules) -> SessionKey:
    """Give the key of the session a message belongs to.

    Raises:
        BadInput: the wanted key fits no form or is another agent's, or an id the scope depends on is missing.
    """
    if origin.session_key.strip():
        return named_session(origin.session_key, rules, agent_id=origin.agent_id)
    agent_id = agent_for(origin, rules)
    if rules.scope == "global":
        return global_key(agent_id)
    base, thread_id = _conversation(origin, rules, agent_id)
    return with_thread(base, thread_id) if thread_id else base


def named_session(wanted: str, rules: SessionRules, *, agent_id: str = "") -> SessionKey:
    """Give the stored key for one that a person or a policy wrote; short ones belong to `agent_id`.

    Raises:
        BadInput: it fits no form, or names another agent than `agent_id`.
    """
    key = normalise(wanted, default_agent=agent_id or rules.default_agent, main_key=rules.main_key)
    if agent_id and agent_of(key) != agent_id:
        raise BadInput(
            f"session {key} belongs to agent {agent_of(key)}, not to {agent_id}",
            hint="leave out the agent, or name one of its own sessions",
        )
    return key


def _conversation(origin: Origin, rules: SessionRules, agent_id: str) -> tuple[SessionKey, str]:
    """Give the session of the chat as a whole, and the thread within it. Only groups have forum topics."""
    if origin.chat == "group":
        if origin.topic_id:
            return topic_key(agent_id, origin.channel, origin.group_id, origin.topic_id), origin.thread_id
        return group_key(agent_id, origin.channel, origin.group_id), origin.thread_id
    thread_id = origin.thread_id or origin.topic_id
    if origin.chat == "channel":
        return channel_key(agent_id, origin.channel, origin.group_id), thread_id
    base = dm_key(
        rules.dm_scope,
        agent_id=agent_id,
        channel=origin.channel,
        account_id=origin.account_id,
        # Under dmScope main the peer does not appear in the key, so there is nothing to link.
        peer=link_identity(rules.identity_links, origin.channel, origin.peer_id),
        main_key=rules.main_key,
    )
    return base, thread_id
