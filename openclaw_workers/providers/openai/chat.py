"""Calls of the Chat Completions API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import AssistantBlock, TextBlock, ThinkingBlock, Usage
from openclaw_workers.providers.answers import DECLINED, StopReason, cut, decline, finish
from openclaw_workers.providers.base import StreamEvent, TextDelta, ThinkingDelta, UsageSoFar
from openclaw_workers.providers.call import REFUSALS, Call
from openclaw_workers.providers.openai.chat_input import request_body
from openclaw_workers.providers.openai.client import call_block, counted, efforts, post, read, warm_up_client
from openclaw_workers.providers.openai.dialects import CHAT_DIALECTS

PATH: Final = "/chat/completions"
_STOPS: Final[dict[str, StopReason]] = {"tool_calls": "toolUse", "function_call": "toolUse", "length": "length"}


def stream(call: Call, cancel: Cancel) -> Iterator[StreamEvent]:
    steps = [{"reasoning_effort": effort} for effort in efforts(call)]

    def ask(wanted: frozenset[str]) -> Iterator[StreamEvent]:
        return REFUSALS.stream(
            call.model.ref,
            steps,
            lambda step: read(
                call,
                lambda client: post(client, PATH, request_body(call, wanted, step), call.headers()),
                _Reader(call.estimated_input()),
                cancel,
            ),
        )

    return CHAT_DIALECTS.stream(call, ask)


def warm_up() -> None:
    """Load all that a call needs."""
    warm_up_client(PATH)


@dataclass(slots=True)
class _Called:
    id: str = ""
    name: str = ""
    arguments: str = ""


class _Reader:
    """Collects one answer. Some servers leave out what they think goes without saying: indices, ids, usage."""

    def __init__(self, usage: Usage) -> None:
        self._usage, self._estimated = usage, True
        self._text = self._thoughts = self._refusal = ""
        self._calls: dict[int, _Called] = {}
        self._stop: str | None = None
        self.begun = False

    def take(self, chunk: Any) -> Iterator[StreamEvent]:
        # No chunk says what the input cost until the last one, so an abandoned call is counted by the estimate.
        if not self.begun:
            self.begun = True
            yield UsageSoFar(self._usage, estimated=True)
        if chunk.usage is not None:
            usage = chunk.usage
            details = getattr(usage, "prompt_tokens_details", None)
            self._usage = counted(usage.prompt_tokens or 0, usage.completion_tokens or 0, details)
            self._estimated = False
            yield UsageSoFar(self._usage)
        # The chunk with the usage has no choices. We never ask for more than one.
        for choice in (chunk.choices or [])[:1]:
            self._stop = choice.finish_reason or self._stop
            if choice.delta is not None:
                yield from self._grow(choice.delta)

    def _grow(self, delta: Any) -> Iterator[StreamEvent]:
        # DeepSeek's name and OpenRouter's. Some servers send both with the same text.
        for field in ("reasoning_content", "reasoning"):
            if isinstance(thought := getattr(delta, field, None), str):
                self._thoughts += thought
                yield ThinkingDelta(thought)
                break
        if delta.content:
            self._text += delta.content
            yield TextDelta(delta.content)
        if refusal := getattr(delta, "refusal", None):
            self._refusal += refusal
            yield TextDelta(refusal)
        for part in delta.tool_calls or []:
            self._call(part)

    def _call(self, part: Any) -> None:
        function = part.function
        index = part.index
        if index is None:
            # A new id, or a whole call at once, begins the next one.
            begins = bool(part.id) or not self._calls
            index = len(self._calls) if begins else len(self._calls) - 1
        called = self._calls.setdefault(index, _Called())
        called.id = part.id or called.id
        if function is not None:
            called.name = function.name or called.name
            called.arguments += function.arguments or ""

    def end(self) -> Iterator[StreamEvent]:
        if self._stop is None:
            raise cut()
        content: list[AssistantBlock] = []
        if self._thoughts:
            content.append(ThinkingBlock(thinking=self._thoughts))
        if self._text:
            content.append(TextBlock(text=self._text))
        if self._refusal:
            yield decline(content, self._usage, self._refusal, estimated=self._estimated)
            return
        if self._stop == "content_filter":
            yield TextDelta(DECLINED)
            yield decline(content, self._usage, DECLINED, estimated=self._estimated)
            return
        for _, called in sorted(self._calls.items()):
            # A result must name its call, so a call without an id gets one.
            content.append(call_block(called.id or f"call_{uuid4().hex[:24]}", called.name, called.arguments))
        yield finish(content, self._usage, _STOPS.get(self._stop, "stop"), estimated=self._estimated)
