"""Answering a client that waits: with a stream of chunks, or with the whole completion."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ingress.events.hub_reader import HubReader
from ingress.events.sse import KEEP_ALIVE, EventStream
from ingress.openai.completions import CompletionForm
from ingress.openai.errors import ApiError, api_error
from ingress.openai.turn import Pause, Reasoning, Text, Turn
from openclaw_workers.client.answer_text import BETWEEN
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import OpenClawError

if TYPE_CHECKING:
    from ingress.context import IngressContext

log = structlog.get_logger(__name__)

KEEP_ALIVE_SECONDS = 15.0
DONE = b"data: [DONE]\n\n"
CLIENT_GONE = 499
"""The status that nobody reads, because the client has closed the connection."""


class PendingAnswer:
    """The answer to an accepted message.

    Nobody but the client can read the answer to a stateless request, so its turn is stopped when the client goes away.
    A session keeps the answer, so there the turn goes on.
    """

    def __init__(
        self, context: IngressContext, queued: Queued, form: CompletionForm, *, is_stateless: bool, with_tree: bool
    ) -> None:
        self._context = context
        self._queued = queued
        self._form = form
        self._is_stateless = is_stateless
        self._with_tree = with_tree
        self._has_ended = False
        self.headers: dict[str, str] = {"x-openclaw-session-key": queued.session_key}
        if queued.run:
            self.headers["x-request-id"] = queued.run

    async def whole(self, request: Request) -> Response:
        """The completion, when the turn has ended.

        Raises:
            ApiError: it failed.
        """
        try:
            async with self._context.follow() as reader:
                turn = self._turn(reader)
                async for piece in turn.pieces():
                    if isinstance(piece, Pause) and await request.is_disconnected():
                        return Response(status_code=CLIENT_GONE)
                self._has_ended = True
        except ApiError:
            self._has_ended = True
            raise
        finally:
            await self.close()
        body = self._form.completion(BETWEEN.join(turn.texts), turn.usage, turn.finish_reason)
        return JSONResponse(body, headers=self.headers)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The completion as it comes. A failure is an error event: a client takes a stream that just ends for whole."""
        form = self._form
        sent_at = time.monotonic()
        yield data_event(form.first_chunk())
        try:
            async with self._context.follow() as reader:
                turn = self._turn(reader)
                async for piece in turn.pieces():
                    match piece:
                        case Text(text) if text:
                            chunk = data_event(form.text_chunk(text))
                        case Reasoning(text):
                            chunk = data_event(form.reasoning_chunk(text))
                        case _ if time.monotonic() - sent_at >= KEEP_ALIVE_SECONDS:
                            chunk = KEEP_ALIVE
                        case _:
                            continue
                    sent_at = time.monotonic()
                    yield chunk
            for last in form.last_chunks(turn.usage, turn.finish_reason):
                yield data_event(last)
            yield DONE
        except ApiError as error:
            yield data_event(error.body)
        except OpenClawError as error:
            yield data_event(api_error(error, is_repeat_safe=False).body)
        self._has_ended = True

    async def close(self) -> None:
        """Stop the turn if its client has gone and nobody else can read it."""
        if not self._is_stateless or self._has_ended:
            return
        with anyio.CancelScope(shield=True):
            try:
                await self._context.call(self._context.control.stop_session, self._queued.session_key)
            except OpenClawError as error:
                log.warning("completion.not_stopped", sessionKey=self._queued.session_key, error=error.message)

    def _turn(self, reader: HubReader) -> Turn:
        queued = self._queued
        conversation = Conversation(
            queued.session_key, message=queued.message_id, run=queued.run, after=queued.event_id
        )
        return Turn(reader, conversation, with_tree=self._with_tree)


class CompletionStream(EventStream):
    """Ends the turn's chunks with the connection, whichever side closes it."""

    def __init__(self, answer: PendingAnswer) -> None:
        self._answer = answer
        self._chunks = answer.chunks()
        super().__init__(self._chunks)
        self.headers.update(answer.headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._chunks):
                await super().__call__(scope, receive, send)
        finally:
            await self._answer.close()


def command_answer(form: CompletionForm, text: str, *, is_stream: bool) -> Response:
    """The answer of a slash command, which was carried out at once."""
    if not is_stream:
        return JSONResponse(form.completion(text, Usage(), "stop"))

    async def chunks() -> AsyncIterator[bytes]:
        for chunk in (form.first_chunk(), form.text_chunk(text), *form.last_chunks(Usage(), "stop")):
            yield data_event(chunk)
        yield DONE

    return EventStream(chunks())


def data_event(body: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode(errors="replace")
