"""Messages of HTTP clients on their way into a session: whose they are, which session they are for, accepted once."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ingress.errors import HttpError
from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.resolve import resolve_agent_id
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId, SessionKey, new_message_id
from openclaw_workers.domain.messages import Authority, QueueMode, Route
from openclaw_workers.domain.pairing import parse_subject
from openclaw_workers.domain.sent_files import SentFile
from openclaw_workers.domain.transcript import Attachment
from openclaw_workers.engine.intake.accept import PreparedCommand, PreparedMessage
from openclaw_workers.engine.intake.clean_text import message_id_for
from openclaw_workers.engine.routing.addressing import TERMINAL, Origin, session_for, terminal_origin
from openclaw_workers.engine.routing.thread_bindings import session_in_thread
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.views.answers import rejection

if TYPE_CHECKING:
    from ingress.auth.principal import Principal
    from ingress.context import IngressContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A message, and what it asks for its own turn."""

    text: str
    session: SessionKey
    thread: str = ""
    key: str | None = None
    """Idempotency key: a repeat with the same one makes no second turn."""
    model: str | None = None
    thinking: str | None = None
    system: str | None = None
    context_tokens: int | None = None
    run_timeout_seconds: int | None = None
    mode: QueueMode | None = None
    files: Sequence[SentFile] = ()
    attachments: Sequence[Attachment] = ()
    """Files of an earlier message, which are stored or written already."""


async def accept(context: IngressContext, principal: Principal, order: Order) -> Queued | Answered:
    """Accept a message, or carry out the command that it is.

    Raises:
        HttpError: 403 for what needs an owner, 409 if the session rejects the message.
        BadInput: the text, the command, the model or a file cannot be used.
        StoreUnavailable: not accepted, as far as is known; a repeat with the same key is safe.
    """
    if order.files or not context.waker.is_ready:
        prepared = await context.call(_prepared, context, principal, order)
    else:
        prepared = _prepared(context, principal, order)
    if isinstance(prepared, PreparedCommand):
        return await context.call(context.intake.execute, prepared)
    reply = await context.scripts.run(prepared.call)
    if order.files:
        accepted, wake = await context.call(context.intake.finish, prepared, reply)
    else:
        accepted, wake = context.intake.finish(prepared, reply)
    if wake is not None:
        await context.call(context.waker.turn, prepared.message.session_key, wake)
    if isinstance(accepted, Rejected):
        failure = rejection(order.session, accepted.reason).error
        assert failure is not None, "a rejection has a reason"
        raise HttpError(409, failure["message"] or "", hint=failure["hint"], code=accepted.reason)
    return accepted


def _prepared(context: IngressContext, principal: Principal, order: Order) -> PreparedMessage | PreparedCommand:
    """Blocks if there are files to store, or if the waker is not ready."""
    if order.system and not principal.authority.covers(Authority.OWNER):
        raise HttpError(403, "system needs the authority of an owner")
    route = route_of(principal, order.thread)
    message_id = new_message_id()
    if order.key is not None and principal.terminal:
        message_id = MessageId(replace_surrogates(order.key))  # as a command that speaks to Redis itself would
    elif order.key is not None:
        message_id = message_id_for(route.channel, principal.token_id, "", replace_surrogates(order.key))
    model = None if order.model is None else find_model(context.settings, replace_surrogates(order.model))
    return context.intake.prepare(
        order.text,
        session=order.session,
        route=route,
        authority=principal.authority,
        command_authority=principal.command_authority,
        message_id=message_id,
        model=model,
        extra_system_prompt=order.system or None,
        thinking=order.thinking,
        context_tokens=order.context_tokens,
        timeout_seconds=order.run_timeout_seconds,
        mode=order.mode,
        files=order.files,
        attachments=order.attachments,
    )


@lru_cache(maxsize=1024)
def route_of(principal: Principal, thread: str = "") -> Route:
    """Where a client speaks: a terminal, a browser, or a program with a token.

    Replies are read from the run, not sent.
    """
    if principal.terminal:
        return Route(channel=TERMINAL, thread_id=replace_surrogates(thread))
    channel = "web" if principal.by_cookie else "http"
    # With an address of its own, a repeat under one key is one, whichever session it would lead to by then.
    return Route(channel=channel, to=principal.token_id or "local", thread_id=replace_surrogates(thread))


def session_of(
    context: IngressContext, principal: Principal, *, wanted: str = "", agent: str = "", thread: str = ""
) -> SessionKey:
    """The session that a message is for: the named one, that of the thread, or the one for whoever sends it.

    Blocks if a thread is given.

    Raises:
        BadInput, NotFound: there is no such agent, key or thread.
        HttpError: 403 if the token is bound to another agent.
    """
    wanted, agent = replace_surrogates(wanted), replace_surrogates(agent)
    if thread and not wanted:
        found = session_in_thread(context.stores.sessions, route_of(principal, thread))
        if found is None:
            raise NotFound(f"no session is bound to thread {thread}")
        session = found
    else:
        session = _named_session(context, principal, wanted, agent)
    if not principal.may_see(session):
        raise HttpError(403, f"this token is for agent {principal.agent} only")
    return session


@lru_cache(maxsize=4096)
def _named_session(context: IngressContext, principal: Principal, wanted: str, agent: str) -> SessionKey:
    """Depends on the settings alone, so it is kept."""
    explicit = agent or ("" if wanted else principal.agent or "")
    agent_id = resolve_agent_id(context.settings, explicit=explicit, session_key=wanted)
    return session_for(_origin(principal, wanted, agent_id), context.session_rules)


def _origin(principal: Principal, wanted: str, agent_id: str) -> Origin:
    if principal.terminal:
        return terminal_origin(principal.terminal, session_key=wanted, agent_id=agent_id)
    if principal.person is None:
        peer = f"token-{principal.token_id}" if principal.token_id else "local"
        return Origin(channel="http", peer_id=peer, session_key=wanted, agent_id=agent_id)
    person = parse_subject(principal.person)
    return Origin(
        channel=person.channel,
        account_id=person.account_id,
        peer_id=person.person_id,
        session_key=wanted,
        agent_id=agent_id,
    )


def decoded(name: str, data: str, media_type: str = "") -> SentFile:
    """A file given as base64. A name without an extension gets that of the media type.

    Raises:
        BadInput: it is not base64.
    """
    try:
        content = base64.b64decode(data.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise BadInput(f"attachment {name!r} is not base64") from error
    if "." not in name and media_type:
        name += mimetypes.guess_extension(media_type) or ""
    return SentFile(name, content)
