"""From a request to an accepted message: its session, its transcript if it is stateless, and its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request

from ingress.auth.principal import Principal
from ingress.errors import HttpError
from ingress.openai.conversation import Conversation, newest_only, with_history
from ingress.openai.errors import ApiError
from ingress.openai.front_ends import is_own_request
from ingress.openai.requests import ChatRequest
from ingress.openai.sessions import CHANNEL, agent_for, own_session, session_named
from ingress.openai.stateless_session import attach_files, create_stateless
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import MessageId, SessionKey, new_message_id
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.engine.intake.clean_text import message_id_for

if TYPE_CHECKING:
    from ingress.context import IngressContext

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
    files = attach_files(context, wanted.session, said.files)
    if wanted.is_stateless:
        create_stateless(context, wanted.session, wanted.conversation.earlier)
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
