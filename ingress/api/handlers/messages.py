"""Messages: send, steer, run again, and say something to a sub-agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from ingress.api.access import run_of, subagent_of
from ingress.api.answer_wait import Finished, accepted_json, as_events, follow
from ingress.api.dispatch import JsonAnswer
from ingress.api.models.inputs import RepeatInput, SendInput, TextInput
from ingress.api.table import Call, NoInput
from ingress.client_messages import Order, accept, decoded, session_of
from ingress.events.sse import BEGINNING, EventStream
from ingress.events.viewer import sse
from openclaw_workers.client.protocol import Quiet
from openclaw_workers.domain.accepted import Answered, Queued
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.transcript import UserEntry
from openclaw_workers.errors import ConflictError
from openclaw_workers.queries.run_answers import run_details
from openclaw_workers.queries.subagent_answers import session_of as session_of_subagent
from openclaw_workers.views.answers import Answer, answer_json

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey

EVENT_STREAM = "text/event-stream"


async def send(call: Call[NoInput, SendInput]) -> Response:
    """202 once it is stored; with `wait`, 200 and the answer; with `Accept: text/event-stream`, events."""
    body, context = call.body, call.context
    find = partial(session_of, wanted=body.session_key, agent=body.agent_id, thread=body.thread_id)
    session = await context.call(find, context, call.principal) if body.thread_id else find(context, call.principal)
    order = await context.call(_order, call, session) if body.attachments else _order(call, session)
    queued = await accept(context, call.principal, order)
    if isinstance(queued, Answered):
        return _answered(call.request, Answer(session, "command", text=queued.text))
    updates = follow(call.context, queued, with_tree=call.body.wait == "tree", seconds=call.body.timeout_seconds)
    if _wants_events(call.request):
        return EventStream(_stream(queued, as_events(updates, queued.session_key)))
    if call.body.wait == "none":
        return JsonAnswer(accepted_json(queued), status_code=202)
    return await _wait(call.request, updates)


def _order(call: Call[NoInput, SendInput], session: SessionKey) -> Order:
    body = call.body
    return Order(
        text=body.text,
        session=session,
        thread=body.thread_id,
        key=_idempotency_key(call.request, body.idempotency_key),
        model=body.model,
        thinking=body.thinking,
        system=body.system,
        context_tokens=body.context_tokens,
        run_timeout_seconds=body.run_timeout_seconds,
        mode=body.mode,
        files=[decoded(each.name, each.data, each.media_type) for each in body.attachments],
    )


async def steer_run(call: Call[NoInput, TextInput]) -> Response:
    return await _say(call, await call.context.call(_active_session, call), QueueMode.STEER)


async def send_to_subagent(call: Call[NoInput, TextInput]) -> Response:
    return await _say(call, await call.context.call(_session_of_subagent, call), QueueMode.FOLLOWUP)


async def steer_subagent(call: Call[NoInput, TextInput]) -> Response:
    return await _say(call, await call.context.call(_session_of_subagent, call), QueueMode.STEER)


async def rerun(call: Call[NoInput, RepeatInput]) -> Response:
    """Accept the messages that a run answered again, as one new message to its session."""
    return await _accepted(call, await call.context.call(_same_again, call))


def _active_session(call: Call[NoInput, TextInput]) -> SessionKey:
    run = run_of(call)
    if call.context.stores.inbox.current_run(run.session_key) != run.id:
        raise ConflictError(f"{run.id} is not the active run of its session; send a message instead")
    return run.session_key


def _session_of_subagent(call: Call[NoInput, TextInput]) -> SessionKey:
    return session_of_subagent(call.context, subagent_of(call))


def _same_again(call: Call[NoInput, RepeatInput]) -> Order:
    found = run_details(call.context, run_of(call).id)
    if found.problem is not None:
        raise found.problem
    entries = [each for each in found.journal if isinstance(each, UserEntry) and each.provenance in (None, "steer")]
    texts = ["".join(block.text for block in entry.content) for entry in entries]
    if found.run.is_child:
        texts = [found.run.task]
    if not any(texts):
        raise ConflictError(f"{found.run.id} answered no message of a person, so there is nothing to run again")
    return Order(
        text="\n\n".join(texts),
        session=found.run.session_key,
        key=_idempotency_key(call.request, call.body.idempotency_key),
        attachments=[file for entry in entries for file in entry.attachments],
    )


async def _say(call: Call[NoInput, TextInput], session: SessionKey, mode: QueueMode) -> Response:
    key = _idempotency_key(call.request, call.body.idempotency_key)
    return await _accepted(call, Order(text=call.body.text, session=session, key=key, mode=mode))


async def _accepted(call: Call[Any, Any], order: Order) -> Response:
    queued = await accept(call.context, call.principal, order)
    if isinstance(queued, Answered):
        return JsonAnswer(answer_json(Answer(order.session, "command", text=queued.text)))
    return JsonAnswer(accepted_json(queued), status_code=202)


def _answered(request: Request, answer: Answer) -> Response:
    if _wants_events(request):
        return EventStream(_just(sse("answer", answer_json(answer))))
    return JsonAnswer(answer_json(answer))


async def _just(text: bytes) -> AsyncIterator[bytes]:
    yield text


async def _stream(queued: Queued, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield BEGINNING + sse("accepted", accepted_json(queued))
    async for text in events:
        yield text


async def _wait(request: Request, updates: AsyncIterator[Any]) -> Response:
    """The final answer; 202 if the time was up first, because the run continues."""
    async for update in updates:
        if isinstance(update, Finished):
            return JsonAnswer(answer_json(update.answer), status_code=200 if update.is_over else 202)
        if isinstance(update, Quiet) and await request.is_disconnected():
            break
    return Response(status_code=204)  # nobody is there to read it


def _wants_events(request: Request) -> bool:
    return EVENT_STREAM in request.headers.get("accept", "")


def _idempotency_key(request: Request, given: str | None) -> str | None:
    return given or request.headers.get("idempotency-key", "")[:200] or None
