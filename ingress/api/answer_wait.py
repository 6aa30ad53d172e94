"""Waiting for the answer to a message, as one JSON answer or as a stream of events."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ingress.events.sse import GAP, KEEP_ALIVE, KEEP_ALIVE_SECONDS
from ingress.events.viewer import Shown, sse
from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.client.follow_replies import LaterReplies
from openclaw_workers.client.protocol import Ended, Gap, Note, Update
from openclaw_workers.domain.events import Event
from openclaw_workers.views.answers import (
    Answer,
    answer_json,
    answer_of_run,
    answer_without_run,
    blocked_announce,
    tree_fields,
)
from openclaw_workers.views.errors import error_json

if TYPE_CHECKING:
    from ingress.context import IngressContext
    from ingress.events.hub_reader import HubReader
    from openclaw_workers.domain.accepted import Queued
    from openclaw_workers.domain.ids import SessionKey


@dataclass(frozen=True, slots=True)
class Finished:
    """The last update of a wait."""

    answer: Answer
    is_over: bool
    """False if the time was up first."""


async def follow(
    context: IngressContext, queued: Queued, *, with_tree: bool, seconds: float
) -> AsyncIterator[Update | Finished]:
    """What happens to a message until it is answered; the last item is `Finished`."""
    deadline = Deadline(seconds)
    conversation = Conversation(
        queued.session_key, message=queued.message_id, run=queued.run, after=queued.event_id, deadline=deadline
    )
    async with context.follow() as reader:
        try:
            async for update in reader.follow(conversation.steps()):
                if isinstance(update, Ended):
                    answer = answer_of(conversation.session, update)
                else:
                    yield update
        except WaitOver as error:
            yield Finished(await _unfinished(context, conversation, error), is_over=False)
            return
        if with_tree and answer.run is not None:
            async for step in _replies(reader, answer, conversation.after, deadline):
                yield step
        else:
            yield Finished(answer, is_over=True)


async def _replies(
    reader: HubReader, first: Answer, after: str, deadline: Deadline
) -> AsyncIterator[Update | Finished]:
    assert first.run_id is not None, "only a run spawns"
    replies, later = LaterReplies(first.session, deadline=deadline), list[Answer]()
    over: WaitOver | None = None
    try:
        await reader.result(replies.add_run(first.run_id, after))
        has_more = True
        while has_more:
            has_more = False
            async for update in reader.follow(replies.next_reply()):
                if isinstance(update, Ended):
                    later.append(answer_of(first.session, update))
                    has_more = True
                else:
                    yield update
    except WaitOver as reason:
        # Kept, not raised: what has been answered so far is still part of the reply.
        over = reason
    children = await reader.result(replies.children())
    failed = [each.error for each in later if each.error] + [blocked_announce(batch) for batch in replies.blocked]
    error = error_json(over) if over else first.error or (failed[-1] if failed else None)
    tree = tree_fields(later, children, is_settled=over is None)
    yield Finished(replace(first, error=error, tree=tree), is_over=over is None)


async def as_events(updates: AsyncIterator[Update | Finished], session: str) -> AsyncIterator[bytes]:
    """A wait as server-sent events. The last one is `answer`, with the fields of a JSON answer."""
    sent_at = time.monotonic()
    async for update in updates:
        text = _as_event(update, session)
        # Updates that are not shown come often, so a keep-alive is sent only when the connection was silent for a
        # while.
        if not text and time.monotonic() - sent_at >= KEEP_ALIVE_SECONDS:
            text = KEEP_ALIVE
        if text:
            sent_at = time.monotonic()
            yield text


def _as_event(update: Update | Finished, session: str) -> bytes:
    match update:
        case Event():
            return Shown(session, update).text
        case Gap():
            return GAP
        case Note(text):
            return sse("note", {"text": text})
        case Finished(answer):
            return sse("answer", answer_json(answer))
    return b""


def answer_of(session: SessionKey, ended: Ended) -> Answer:
    if ended.run is not None:
        return answer_of_run(ended.run)
    assert ended.receipt is not None, "a conversation ends with a run or a receipt"
    return answer_without_run(session, ended.receipt)


async def _unfinished(context: IngressContext, conversation: Conversation, error: WaitOver) -> Answer:
    run = await context.call(context.stores.reader.run, conversation.run) if conversation.run else None
    row = await context.call(context.stores.reader.session, conversation.session)
    session_id = row.session_id if row else None
    status = run.state if run else "queued"
    return Answer(conversation.session, status, conversation.run, session_id, error=error_json(error))


def accepted_json(queued: Queued) -> dict[str, Any]:
    return {
        "accepted": True,
        "messageId": queued.message_id,
        "sessionKey": queued.session_key,
        "runId": queued.run,
        "eventId": queued.event_id,
        "duplicate": queued.duplicate is not None,
    }
