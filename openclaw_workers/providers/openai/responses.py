"""Calls of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import AssistantBlock, TextBlock, ThinkingBlock, ToolResultEntry
from openclaw_workers.providers.answers import DECLINED, StopReason, cut, decline, finish
from openclaw_workers.providers.base import StreamEvent, TextDelta, ThinkingDelta, UsageSoFar
from openclaw_workers.providers.call import REFUSALS, Call
from openclaw_workers.providers.http.failures import error_event
from openclaw_workers.providers.openai.client import call_block, counted, efforts, post, read, warm_up_client
from openclaw_workers.providers.openai.dialects import RESPONSES_DIALECTS
from openclaw_workers.providers.openai.responses_input import request_body
from openclaw_workers.providers.thinking import Parameters

PATH: Final = "/responses"


def stream(call: Call, cancel: Cancel) -> Iterator[StreamEvent]:
    steps = [{"reasoning": {"effort": effort}} for effort in efforts(call)]

    def ask(wanted: frozenset[str]) -> Iterator[StreamEvent]:
        return REFUSALS.stream(
            call.model.ref,
            steps,
            lambda step: read(
                call,
                lambda client: post(client, PATH, request_body(call, wanted, step), call.headers()),
                _Reader(call),
                cancel,
            ),
            _shown,
        )

    # "output" is a common word. Only where results with files are sent can an error with it mean this dialect.
    has_parts = any(entry.files for entry in call.request.messages if isinstance(entry, ToolResultEntry))
    return RESPONSES_DIALECTS.stream(call, ask) if has_parts else ask(frozenset())


def warm_up() -> None:
    """Load all that a call needs."""
    warm_up_client(PATH)


def _shown(step: Parameters) -> Parameters:
    reasoning = step.get("reasoning", {"effort": "none"})
    return step if reasoning["effort"] == "none" else {"reasoning": {**reasoning, "summary": "auto"}}


class _Reader:
    """Collects one answer from its finished items."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._usage, self._estimated = call.estimated_input(), True
        self._items: dict[int, list[AssistantBlock]] = {}
        self._refusal = ""
        self._stop: StopReason | None = None
        self._filtered = False
        self.begun = False

    def take(self, event: Any) -> Iterator[StreamEvent]:
        match event.type:
            case "response.created":
                self.begun = True
                yield UsageSoFar(self._usage, estimated=True)
            case "response.output_text.delta":
                yield TextDelta(event.delta)
            case "response.reasoning_summary_text.delta":
                yield ThinkingDelta(event.delta)
            case "response.refusal.delta":
                self._refusal += event.delta
                yield TextDelta(event.delta)
            case "response.output_item.done":
                # The finished item, not the collected deltas: it alone has the sealed reasoning and the complete
                # arguments.
                self._items[event.output_index] = _blocks(event.item)
            case "response.completed" | "response.incomplete":
                self._settle(event.response)
                yield UsageSoFar(self._usage, self._estimated)
            case "response.failed":
                error = event.response.error
                raise error_event(
                    self._call, *((error.code, error.message) if error else (None, "the response failed"))
                )
            case "error":
                raise error_event(self._call, event.code, event.message)

    def _settle(self, response: Any) -> None:
        why = getattr(response.incomplete_details, "reason", None)
        self._filtered = why == "content_filter"
        self._stop = "length" if why == "max_output_tokens" else "stop"
        if usage := response.usage:
            details = getattr(usage, "input_tokens_details", None)
            self._usage = counted(usage.input_tokens or 0, usage.output_tokens or 0, details)
            self._estimated = False

    def end(self) -> Iterator[StreamEvent]:
        if self._stop is None:
            raise cut()
        content = [block for _, blocks in sorted(self._items.items()) for block in blocks]
        if self._refusal:
            yield decline(content, self._usage, self._refusal, estimated=self._estimated)
            return
        if self._filtered:
            yield TextDelta(DECLINED)
            yield decline(content, self._usage, DECLINED, estimated=self._estimated)
            return
        yield finish(content, self._usage, self._stop, estimated=self._estimated)


def _blocks(item: Any) -> list[AssistantBlock]:
    match item.type:
        case "message":
            return [TextBlock(text=part.text) for part in item.content or [] if part.type == "output_text"]
        case "function_call":
            return [call_block(item.call_id, item.name, item.arguments or "")]
        case "reasoning":
            return _thoughts(item)
        case _:
            return []


def _thoughts(item: Any) -> list[AssistantBlock]:
    summary = "\n\n".join(part.text for part in item.summary or [])
    sealed = item.encrypted_content
    if not sealed:
        return [ThinkingBlock(thinking=summary)] if summary else []
    # The whole item is kept as the signature, because the API wants it back with its id and its summary.
    again = {
        "type": "reasoning",
        "id": item.id,
        "summary": [{"type": "summary_text", "text": part.text} for part in item.summary or []],
        "encrypted_content": sealed,
    }
    return [ThinkingBlock(thinking=summary, signature=json.dumps(again))]
