"""The text and the id of a message as they are stored."""

from __future__ import annotations

import hashlib

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.engine.intake.commands.parse import ParsedCommand
from openclaw_workers.engine.intake.skill_commands import AskedSkill
from openclaw_workers.errors import BadInput

MAX_TEXT_BYTES = 1_000_000


def message_id_for(channel: str, account: str, chat: str, channel_message_id: str) -> MessageId:
    """The id of a message that its channel has numbered, the same each time the channel delivers it."""
    # Joined by a character that ids cannot contain, so that no two sets of parts give the same text.
    text = "\0".join((channel, account, chat, channel_message_id))
    return MessageId("msg-" + hashlib.sha256(text.encode()).hexdigest()[:24])


def clean_id(message_id: str) -> MessageId:
    """Ids of channels are stored too, and a lone surrogate cannot be."""
    return MessageId(replace_surrogates(message_id))


def text_to_keep(parsed: ParsedCommand | None, skill: AskedSkill | None, shown_as: str) -> str:
    """What is kept of a command, or of a message that asks for a skill; empty for all others."""
    if parsed is not None:
        return parsed.text
    return clean(skill.text(shown_as)) if skill is not None else ""


def text_for_model(text: str, sender: str, authority: Authority) -> str:
    """What the model reads: a stranger's words are quoted, because they are no orders."""
    source = f"a message of {sender.strip() or 'a stranger'}"
    return text if authority is not Authority.ANYONE else wrap(text, source)


def clean(text: str, what: str = "message") -> str:
    text = replace_surrogates(text).strip()
    if not text:
        raise BadInput(f"the {what} is empty", hint="write something, or `/help`")
    size = len(text.encode())
    if size > MAX_TEXT_BYTES:
        problem = f"the {what} has {size:,} bytes; at most {MAX_TEXT_BYTES:,} are taken"
        raise BadInput(problem, hint="put it into a file of the workspace, and say which")
    return text
