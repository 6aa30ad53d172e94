"""One accepted message followed to its end: pieces of text as they come, then how the turn ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ingress.events.hub_reader import HubReader
from ingress.openai.completions import finish_reason
from ingress.openai.errors import SERVER, TOO_MANY, ApiError
from openclaw_workers.client.answer_text import AnswerText
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.client.follow_replies import LaterReplies
from openclaw_workers.client.protocol import Ended, Gap, Update
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import Usage

_STATUS = {"rate_limit": 429, "timeout": 504}


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


class Pause:
    """Nothing to send at the moment."""


Piece = Text | Reasoning | Pause


class Turn:
    def __init__(self, reader: HubReader, conversation: Conversation, *, with_tree: bool) -> None:
        """`with_tree`: also follow the replies to sub-agents that the turn started."""
        self._reader = reader
        self._conversation = conversation
        self._with_tree = with_tree
        self._answer = AnswerText()
        self.texts: list[str] = []
        """The committed answers: of the turn, then the replies to its sub-agents."""
        self.usage = Usage()
        self.finish_reason = "stop"
        self.has_ended = False

    async def pieces(self) -> AsyncIterator[Piece]:
        """Until the turn has ended.

        Raises:
            ApiError: it failed, was stopped, or never began.
        """
        async for update in self._reader.follow(self._conversation.steps()):
            yield self._piece(update)
        run = self._conversation.run
        if not self._with_tree or run is None:
            return
        replies = LaterReplies(self._conversation.session)
        await self._reader.result(replies.add_run(run, self._conversation.after))
        is_more = True
        while is_more:
            is_more = False
            async for update in self._reader.follow(replies.next_reply()):
                is_more = is_more or isinstance(update, Ended)
                yield self._piece(update)

    def _piece(self, update: Update) -> Piece:
        match update:
            case Event(type="thinking.delta", data=data):
                return Reasoning(str(data.get("text", "")))
            case Event():
                text = self._answer.add(update)
                return Text(text) if text else Pause()
            case Gap():
                self._answer.mark_gap()
            case Ended(run, receipt):
                self.has_ended = True
                return Text(self._answer.finish(self._ended(run, receipt)))
        return Pause()

    def _ended(self, run: Run | None, receipt: Receipt | None) -> str | None:
        if run is None:
            raise _not_begun(receipt)
        self.usage = self.usage.plus(run.usage)
        self.finish_reason = finish_reason(run)
        if run.state is not RunState.OK:
            raise _failed(run)
        self.texts += [run.text] if run.text else []
        return run.text


def _failed(run: Run) -> ApiError:
    """A turn was tried with every key and model already, and is in the transcript: sending it again does not help."""
    if run.state is RunState.KILLED:
        message = f"the turn was stopped ({run.reason or 'no reason given'})"
        return ApiError(409, message, code="run_stopped", kind=SERVER, should_retry=False)
    if run.state is RunState.TIMEOUT:
        message = run.error or "the turn took too long"
        return ApiError(504, message, code="run_timeout", kind=SERVER, should_retry=False)
    reason = run.reason or "error"
    kind = TOO_MANY if reason == "rate_limit" else SERVER
    code = reason if reason != "error" else "run_failed"
    message = run.error or "the turn failed"
    return ApiError(_STATUS.get(reason, 502), message, code=code, kind=kind, should_retry=False)


def _not_begun(receipt: Receipt | None) -> ApiError:
    """A message that no turn took."""
    state = receipt.state if receipt else MessageState.CANCELLED
    reason = f" ({receipt.reason})" if receipt and receipt.reason else ""
    message = f"the message was {state} before a turn began{reason}"
    status = 429 if state in (MessageState.DROPPED, MessageState.REJECTED) else 409
    kind = TOO_MANY if status == 429 else SERVER
    return ApiError(status, message, code=f"message_{state}", kind=kind, should_retry=False)
