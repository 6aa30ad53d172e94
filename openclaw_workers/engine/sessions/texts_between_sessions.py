"""Messages between sessions: labelled with their sender, and quoted as information, not as instructions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from openclaw_workers.agent.output.silent_replies import is_silent
from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import Authority, InboundMessage, Route
from openclaw_workers.engine.tree.report import quoted

PROVENANCE: Final = "inter_session"
REPLY_SKIP: Final = "REPLY_SKIP"
ANNOUNCE_SKIP: Final = "ANNOUNCE_SKIP"


def message_id(kind: str, session_id: str, run: str, call_id: str) -> MessageId:
    """Derived, so that a repeat of the same call is the same message (rule 3)."""
    text = "\0".join((kind, session_id, run, call_id))
    return MessageId(f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:24]}")


def internal(
    ident: str,
    session: SessionKey,
    sender: SessionKey,
    text: str,
    *,
    authority: Authority,
    route: Route | None = None,
    about: Mapping[str, str] | None = None,
) -> InboundMessage:
    """A message between sessions. Its answer goes to no channel unless a route names one.

    `authority` is that of who asked for the turn that writes it.
    """
    return InboundMessage(
        id=MessageId(ident),
        session_key=session,
        text=text,
        route=route or Route(channel="internal", to=sender),
        sender=sender,
        authority=authority,
        kind="internal",
        metadata={"provenance": PROVENANCE, "from": sender, **(about or {})},
    )


def first_text(sender: SessionKey, text: str) -> str:
    heading = texts.MESSAGE_FROM_SESSION.format(sender=sender)
    return "\n".join([heading, texts.INTER_SESSION_LABEL, *quoted("message", text)])


def turn_text(sender: SessionKey, text: str, turn: int, most: int) -> str:
    heading = texts.REPLY_FROM_SESSION.format(sender=sender)
    ending = texts.REPLY_TURN.format(turn=turn, most=most, skip=REPLY_SKIP)
    return "\n".join([heading, texts.INTER_SESSION_LABEL, *quoted("reply", text), ending])


def announce_text(other: SessionKey, latest: str) -> str:
    asking = texts.EXCHANGE_OVER.format(other=other, skip=ANNOUNCE_SKIP)
    return "\n".join([texts.EXCHANGE_HEADING, asking, *quoted("what was said last", latest)])


def controller_text(sender: SessionKey, text: str) -> str:
    """To a sub-agent from the one that started it, whose word is its task."""
    return texts.MESSAGE_FROM_PARENT.format(sender=sender, text=text)


def says_nothing(text: str) -> bool:
    """Nothing was said, or a word that means so."""
    return is_silent(text) or text.strip().strip("`'\"*.").upper() in ("", REPLY_SKIP, ANNOUNCE_SKIP)
