"""What a model reads of a message from a chat channel."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.chat_message import chat_message
from openclaw_workers.domain.inbound import Inbound
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.store.group_context import ContextMessage

CONTEXT_CHARS = 60_000
"""Of what was written before; the oldest messages are left out first."""


def text_for_model(
    inbound: Inbound, authority: Authority, context: Sequence[ContextMessage] = (), text: str | None = None
) -> str:
    """The message with who wrote it and what it replies to; in a group, after what was written there before.

    `text` replaces the message's own, where the channel has added to it: the transcript of a voice note, a caption.
    """
    words = inbound.text if text is None else text
    return _group_text(inbound, authority, context, words) if inbound.is_group else _direct(inbound, authority, words)


def context_of(inbound: Inbound) -> ContextMessage:
    """A message that is kept as context. The same each time its channel delivers it."""
    return ContextMessage(
        message_id=inbound.message_id,
        sender_id=inbound.sender_id,
        sender_name=_name(inbound),
        sent_at=inbound.sent_at,
        text=inbound.text,
    )


def _direct(inbound: Inbound, authority: Authority, text: str) -> str:
    own = wrap(text, f"a message of {_name(inbound)}") if authority is Authority.ANYONE else text
    if inbound.reply is None or not inbound.reply.text:
        return own
    other = inbound.reply.sender_name or "somebody"
    return f"{wrap(inbound.reply.text, f'a message of {other} that the next one replies to')}\n{own}"


def _group_text(inbound: Inbound, authority: Authority, context: Sequence[ContextMessage], text: str) -> str:
    reply = inbound.reply
    framed = chat_message(
        text,
        sender_name=_name(inbound),
        sender_id=inbound.sender_id,
        sent_at=inbound.sent_at,
        authority=authority,
        reply_to=reply.sender_name or reply.message_id if reply else "",
        quoted=reply.text if reply else "",
    )
    before = _newest(context)
    if not before:
        return framed
    return "\n".join([texts.CHAT_CONTEXT, *before, texts.CHAT_ADDRESSED, framed])


def _newest(context: Sequence[ContextMessage]) -> list[str]:
    shown: list[str] = []
    room = CONTEXT_CHARS
    for each in reversed(context):
        line = chat_message(each.text, sender_name=each.sender_name, sender_id=each.sender_id, sent_at=each.sent_at)
        room -= len(line)
        if room < 0:
            break
        shown.append(line)
    return shown[::-1]


def _name(inbound: Inbound) -> str:
    return inbound.sender_name or inbound.username or inbound.sender_id or "somebody"
