"""From a request to an accepted message: its session, its transcript if it is stateless, and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from starlette.requests import Request

from ingress.auth.principal import Principal
from ingress.errors import HttpError
from ingress.openai.conversation import Conversation, Said, newest_only, with_history
from ingress.openai.errors import ApiError
from ingress.openai.front_ends import is_own_request
from ingress.openai.requests import ChatRequest
from ingress.openai.sessions import CHANNEL, agent_for, own_session, session_named
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import MessageId, SessionKey, new_message_id
from openclaw_workers.domain.messages import Authority, Route
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
from openclaw_workers.engine.intake.clean_text import message_id_for

if TYPE_CHECKING:
    from ingress.context import IngressContext

KEEP_SECONDS = 3600
"""How long the session of a stateless request is kept after its last use."""
MOST_KEY_CHARS = 256
IDEMPOTENCY_HEADER = "idempotency-key"
MODEL_HEADER = "x-openclaw-model"
ONLY_FILES = "(see the attached files)"
"""The text of a message that has pictures alone."""

_EFFORTS = {"none": "off"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request that was understood."""

    session: SessionKey
    is_stateless: bool
    conversation: Conversation
    message_id: MessageId
    is_repeat_safe: bool
    model: str | None
    thinking: str | None
    principal: Principal


def understand(context: IngressContext, http: Request, request: ChatRequest, principal: Principal) -> Wanted:
    """Find the session, and what of the messages counts in it.

    Raises:
        ApiError, BadInput, HttpError: the request cannot be used, or not with this token.
    """
    agent = agent_for(request.model, context.settings, principal)
    once = _once(http, principal)
    session = session_named(request, http.headers, agent, context.settings, context.session_rules)
    conversation = newest_only(request.messages) if session is not None else with_history(request.messages)
    if session is not None and is_own_request(conversation.message.text):
        session, conversation = None, with_history(request.messages)
    key = session or own_session(agent, context.settings, once)
    if not principal.may_see(key):
        raise HttpError(403, f"this token may not use {key}")
    effort = request.reasoning_effort
    return Wanted(
        session=key,
        is_stateless=session is None,
        conversation=conversation,
        message_id=message_id_for(CHANNEL, principal.token_id, key, once) if once else new_message_id(),
        is_repeat_safe=bool(once),
        model=http.headers.get(MODEL_HEADER) or None,
        thinking=_EFFORTS.get(effort, effort) if effort else None,
        principal=principal,
    )


def accept(context: IngressContext, wanted: Wanted) -> Queued | Rejected | Answered:
    """Store the message, once, and before it what was said earlier if nobody else keeps that.

    Raises:
        BadInput: the model, the level or a file cannot be used.
        StoreUnavailable: not accepted, as far as we know.
    """
    said = wanted.conversation.message
    files = _attached(context, wanted.session, said.files)
    if wanted.is_stateless:
        context.stores.sessions.create_temporary(
            wanted.session,
            [_entry(context, wanted.session, each) for each in wanted.conversation.earlier],
            row={"sessionKind": "main", "chatType": chat_type(wanted.session)},
            keep_seconds=KEEP_SECONDS,
        )
    text, system = said.text or (ONLY_FILES if files else ""), wanted.conversation.system
    authority = wanted.principal.authority
    is_owner = authority.covers(Authority.OWNER)
    return context.intake.accept(
        text,
        session=wanted.session,
        route=Route(channel=CHANNEL),
        authority=authority,
        # Only an owner may add to the system prompt. For others it is a part of the message.
        shown_as=f"{system}\n\n{text}" if system and authority is Authority.AUTHORIZED else "",
        message_id=wanted.message_id,
        model=wanted.model,
        extra_system_prompt=system if system and is_owner else None,
        thinking=wanted.thinking,
        attachments=files,
    )


def _once(http: Request, principal: Principal) -> str:
    """The idempotency key together with whose it is; empty without one."""
    key = http.headers.get(IDEMPOTENCY_HEADER, "")
    if len(key) > MOST_KEY_CHARS:
        raise ApiError(
            400, f"an idempotency key has at most {MOST_KEY_CHARS} characters", code="invalid_request", param="headers"
        )
    return f"{principal.token_id}\0{key}" if key else ""


def _entry(context: IngressContext, session: SessionKey, said: Said) -> TranscriptEntry:
    now = context.clock()
    if said.role == "assistant":
        blocks: list[AssistantBlock] = [TextBlock(text=said.text)]
        return AssistantEntry(content=blocks, timestamp=now)
    files = _attached(context, session, said.files)
    return UserEntry(content=[TextBlock(text=said.text)], attachments=files, timestamp=now)


def _attached(context: IngressContext, session: SessionKey, files: Sequence[SentFile]) -> list[Attachment]:
    """Files for the agent's workspace, under a name made of their content: a client sends them again each time."""
    check_files(files)
    found = []
    for file in files:
        folder = f"{INBOX_FOLDER}/{CHANNEL}-{sha256(file.content).hexdigest()[:24]}"
        found += attach([file], folder, owner=session, store=context.stores.uploads.store)
    return found
