"""One message from its acceptance to its answer: what happens meanwhile, and how it ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from openclaw_workers.client.async_follower import AsyncFollower
from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.client.follow_replies import LaterReplies
from openclaw_workers.client.protocol import Ended, Gap, ReadRun, Update, ask
from openclaw_workers.domain import events
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.sdk.results import Answer, Event
from openclaw_workers.views import answers as views
from openclaw_workers.views.errors import error_json

Step = Event | Answer
"""Events, then one answer."""
ANSWER = "answer"
"""The event at the end of each turn."""


async def follow(
    reader: AsyncFollower, queued: Queued, *, with_tree: bool, seconds: float | None
) -> AsyncGenerator[Step]:
    """What happens to a message until it is answered, or until the time is up; the last step is the answer."""
    deadline = Deadline(seconds)
    conversation = Conversation(
        queued.session_key, message=queued.message_id, run=queued.run, after=queued.event_id, deadline=deadline
    )
    first: views.Answer | None = None
    try:
        async for update in reader.follow(conversation.steps()):
            if isinstance(update, Ended):
                first = _answer_of(conversation.session, update)
                yield _turn_end(first)
            elif (event := _event_of(conversation.session, update)) is not None:
                yield event
    except WaitOver as over:
        yield _typed(await _unfinished(reader, conversation, over))
        return
    assert first is not None, "a conversation ends with Ended"
    if not with_tree or first.run_id is None:
        yield _typed(first)
        return
    async for step in _replies(reader, first, conversation.after, deadline):
        yield step


async def _replies(reader: AsyncFollower, first: views.Answer, after: str, deadline: Deadline) -> AsyncGenerator[Step]:
    """The replies to the results of sub-agents, then the first answer with all of them."""
    assert first.run_id is not None, "only a run spawns"
    replies = LaterReplies(first.session, deadline=deadline)
    later: list[views.Answer] = []
    over: WaitOver | None = None
    try:
        await reader.result(replies.add_run(first.run_id, after))
        is_more = True
        while is_more:
            is_more = False
            async for update in reader.follow(replies.next_reply()):
                if isinstance(update, Ended):
                    later.append(_answer_of(first.session, update))
                    yield _turn_end(later[-1])
                    is_more = True
                elif (event := _event_of(first.session, update)) is not None:
                    yield event
    except WaitOver as reason:
        over = reason
    children = await reader.result(replies.children())
    failed = [each.error for each in later if each.error]
    failed += [views.blocked_announce(batch) for batch in replies.blocked]
    error = error_json(over) if over else first.error or (failed[-1] if failed else None)
    tree = views.tree_fields(later, children, is_settled=over is None)
    yield _typed(replace(first, error=error, tree=tree))


async def _unfinished(reader: AsyncFollower, conversation: Conversation, over: WaitOver) -> views.Answer:
    run = await reader.result(ask(ReadRun(conversation.run))) if conversation.run else None
    status = run.state if run else "queued"
    return views.Answer(conversation.session, status, conversation.run, error=error_json(over))


def _answer_of(session: SessionKey, ended: Ended) -> views.Answer:
    if ended.run is not None:
        return views.answer_of_run(ended.run)
    assert ended.receipt is not None, "a conversation ends with a run or a receipt"
    return views.answer_without_run(session, ended.receipt)


def _turn_end(answer: views.Answer) -> Event:
    """A turn has ended, and this is its answer. Deltas may be missing before it, never more than it says."""
    data = {"run": answer.run_id, "text": answer.text, "status": answer.status}
    return Event(id="", type=ANSWER, session_key=answer.session, data=data)


def _typed(answer: views.Answer) -> Answer:
    return Answer.model_validate(views.answer_json(answer))


def _event_of(session: SessionKey, update: Update) -> Event | None:
    match update:
        case events.Event():
            return Event(
                id=update.id, type=update.type, seq=update.seq, at=update.at, session_key=session, data=update.data
            )
        case Gap():
            return Event(id="", type="gap", session_key=session)
    return None
