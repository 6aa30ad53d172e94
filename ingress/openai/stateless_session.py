"""The session of a stateless request: the client sends the whole conversation, and it is kept for an hour."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from ingress.openai.conversation import Said
from ingress.openai.sessions import CHANNEL
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.sent_files import SentFile, check_files
from openclaw_workers.domain.session_key import chat_type
from openclaw_workers.domain.transcript import (
    AssistantBlock,
    AssistantEntry,
    Attachment,
    TextBlock,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.engine.attachments import INBOX_FOLDER, attach

if TYPE_CHECKING:
    from ingress.context import IngressContext

KEEP_SECONDS = 3600
"""How long the session of a stateless request is kept after its last use."""


def create_stateless(context: IngressContext, session: SessionKey, earlier: Sequence[Said]) -> None:
    """Create the session with what was said earlier as its transcript, unless a repeat of the request did."""
    context.stores.sessions.create_temporary(
        session,
        [_entry(context, session, each) for each in earlier],
        row={"sessionKind": "main", "chatType": chat_type(session)},
        keep_seconds=KEEP_SECONDS,
    )


def _entry(context: IngressContext, session: SessionKey, said: Said) -> TranscriptEntry:
    now = context.clock()
    if said.role == "assistant":
        blocks: list[AssistantBlock] = [TextBlock(text=said.text)]
        return AssistantEntry(content=blocks, timestamp=now)
    files = attach_files(context, session, said.files)
    return UserEntry(content=[TextBlock(text=said.text)], attachments=files, timestamp=now)


def attach_files(context: IngressContext, session: SessionKey, files: Sequence[SentFile]) -> list[Attachment]:
    """Files for the agent's workspace, under a name made of their content: a client sends them again each time."""
    check_files(files)
    found = []
    for file in files:
        folder = f"{INBOX_FOLDER}/{CHANNEL}-{sha256(file.content).hexdigest()[:24]}"
        found += attach([file], folder, owner=session, store=context.stores.uploads.store)
    return found
