"""The gate between chat channels and agents: who is heard, by which agent, in which session, with which authority."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.inbound import Inbound
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.untrusted import safe_line
from openclaw_workers.engine.access.admission_rules import (
    Approvals,
    Heard,
    NotHeard,
    command_authority,
    in_direct_chat,
    in_group,
)
from openclaw_workers.engine.access.channel_settings import ChannelRules, ChatRules, channel_rules, owners_of
from openclaw_workers.engine.access.message_text import context_of
from openclaw_workers.engine.intake.commands.parse import is_for_another_bot, parse_command
from openclaw_workers.engine.routing.addressing import Origin, SessionRules, agent_for, session_for, session_rules
from openclaw_workers.engine.routing.row_fields import inbound_fields
from openclaw_workers.engine.routing.thread_bindings import session_in_thread
from openclaw_workers.logger import get_logger
from openclaw_workers.store.group_context import NO_CONTEXT, GroupContext, PendingContext
from openclaw_workers.store.pairing import Pairings
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import Sessions

log = get_logger(__name__)

PATTERN_CHARS = 4_000
"""How much of a message is searched for mention patterns."""

PAIRING_TEXT = (
    "I do not know you yet. Your pairing code is {code}; it is valid for an hour. "
    "The owner lets you in with: ocw pairing approve {code}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A message that is for an agent."""

    session: SessionKey
    agent_id: str
    route: Route
    authority: Authority
    command_authority: Authority
    """With which authority its sender gives commands."""
    row: dict[str, str] = field(default_factory=dict)
    """What it says about its session, for the session's row."""
    context: PendingContext = NO_CONTEXT
    """What was written in the group before; `AccessGate.forget_context` once the message is accepted."""


@dataclass(frozen=True, slots=True)
class KeptAsContext:
    """Nobody asked the bot; its next turn in this session reads the message."""

    session: SessionKey


@dataclass(frozen=True, slots=True)
class Refused:
    """Its sender or its group is not heard."""

    reason: str
    text: str = ""
    """The reply to the sender; empty: none."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """It is for nobody here."""

    reason: str


class AccessGate:
    """Decides about each message of each channel. Knows no channel's library."""

    def __init__(
        self,
        *,
        settings: Settings,
        pairings: Pairings,
        contexts: GroupContext,
        sessions: Sessions,
        reader: Reader,
    ) -> None:
        self._settings = settings
        self._pairings = pairings
        self._contexts = contexts
        self._sessions = sessions
        self._reader = reader
        self._rules: SessionRules = session_rules(settings)
        self._patterns = [re.compile(each, re.IGNORECASE) for each in settings.messages.group_chat.mention_patterns]

    def admit(self, inbound: Inbound) -> Admitted | KeptAsContext | Refused | Ignored:
        """Decide about a message. Safe to repeat: a message that is delivered again gets the same answer.

        Raises:
            StoreUnavailable: nothing is decided.
            BadInput: an id is missing on which its session depends.
        """
        rules = channel_rules(self._settings, inbound.channel, inbound.account_id)
        if rules is None:
            return Ignored(f"channel {inbound.channel} has no account {inbound.account_id}")
        if is_for_another_bot(inbound.text, inbound.bot_name):
            return Ignored("a command for another bot")
        chat = rules.chat(inbound.chat_id, inbound.topic_id) if inbound.is_group else ChatRules()
        origin = _origin(inbound, chat.agent_id)
        agent = agent_for(origin, self._rules)
        verdict = self._judge(inbound, rules, chat, agent)
        if isinstance(verdict, NotHeard):
            return self._refuse(inbound, verdict)
        commands = self._settings.commands.allow_from
        may_command = command_authority(verdict.authority, commands, inbound.channel, inbound.sender_id)
        bound = session_in_thread(self._sessions, inbound.route)
        session = bound or session_for(origin, self._rules)
        context = NO_CONTEXT
        if inbound.is_group:
            if bound is None and not self._is_asked(inbound, chat, session, may_command):
                self._contexts.keep(session, context_of(inbound), chat.history_limit)
                return KeptAsContext(session)
            context = self._contexts.pending(session)
        return Admitted(
            session=session,
            agent_id=agent_of(session),
            route=inbound.route,
            authority=verdict.authority,
            command_authority=may_command,
            row=inbound_fields(inbound, session),
            context=context,
        )

    def forget_context(self, admitted: Admitted) -> None:
        """The message was accepted, with what was written before it."""
        self._contexts.forget(admitted.session, admitted.context)

    def _judge(self, inbound: Inbound, rules: ChannelRules, chat: ChatRules, agent: str) -> Heard | NotHeard:
        approved = self._approvals(inbound)
        owners = owners_of(self._settings, rules, agent)
        if inbound.is_group:
            return in_group(rules, chat, inbound.sender_id, owners, approved)
        return in_direct_chat(rules, inbound.sender_id, owners, approved)

    def _approvals(self, inbound: Inbound) -> Approvals:
        person = _subject(inbound, person=True)
        group = _subject(inbound, group=inbound.is_group)
        member = _subject(inbound, person=True, group=inbound.is_group)
        found = self._pairings.admitted([person, group, member]) if inbound.sender_id else {}
        return Approvals(
            person=person in found,
            owner=person in found and found[person].owner,
            group=inbound.is_group and group in found,
            member=inbound.is_group and member in found,
        )

    def _refuse(self, inbound: Inbound, verdict: NotHeard) -> Refused:
        about_group = verdict.reason in ("groups-disabled", "group-disabled", "group")
        subject = _subject(inbound, person=not about_group, group=inbound.is_group)
        name = safe_line(inbound.chat_title if about_group else inbound.sender_name or inbound.username)
        message = f"{inbound.chat_id}:{inbound.message_id}"
        self._pairings.refuse(subject, name=name, reason=verdict.reason, message_id=message)
        log.info("message.refused", subject=str(subject), reason=verdict.reason)
        if not verdict.may_pair or not inbound.sender_id:
            return Refused(verdict.reason)
        code = self._pairings.request(subject, name=name, message_id=message)
        tell = code is not None and code.tell
        return Refused(verdict.reason, PAIRING_TEXT.format(code=code.code) if code and tell else "")

    def _is_asked(self, inbound: Inbound, chat: ChatRules, session: SessionKey, authority: Authority) -> bool:
        """Whether the bot answers: it is mentioned or replied to, given a command, or answers every message here."""
        chosen = self._reader.row(session).get("groupActivation")
        if chosen == "always" or (chosen is None and not chat.require_mention):
            return True
        if inbound.mentions_bot or inbound.replies_to_bot:
            return True
        if any(pattern.search(inbound.text[:PATTERN_CHARS]) for pattern in self._patterns):
            return True
        triggers = self._settings.session.reset_triggers
        parsed = parse_command(inbound.text, reset_triggers=triggers, bot_name=inbound.bot_name)
        return parsed is not None and not parsed.is_stop_word and authority.covers(parsed.command.authority)


def _origin(inbound: Inbound, agent_id: str) -> Origin:
    return Origin(
        channel=inbound.channel,
        chat=inbound.chat,
        account_id=inbound.account_id,
        peer_id=inbound.sender_id,
        group_id=inbound.chat_id if inbound.is_group else "",
        topic_id=inbound.topic_id,
        thread_id=inbound.thread_id,
        agent_id=agent_id,
    )


def _subject(inbound: Inbound, *, person: bool = False, group: bool = False) -> Subject:
    return Subject(
        inbound.channel,
        inbound.account_id,
        inbound.sender_id if person else "",
        inbound.chat_id if group else "",
    )
