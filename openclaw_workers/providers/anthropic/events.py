"""Translate the events of the Messages API into ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from openclaw_workers.domain.transcript import AssistantBlock, TextBlock, ThinkingBlock, ToolCallBlock, Usage
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.answers import DECLINED, StopReason, cut, decline, finish, parse_arguments
from openclaw_workers.providers.anthropic.messages import REDACTED
from openclaw_workers.providers.base import Answer, StreamEvent, TextDelta, ThinkingDelta, UsageSoFar

_STOPS: Final[dict[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class Reader:
    """Collects one answer. Blocks are distinguished by their `type`."""

    def __init__(self, usage: Usage) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._usage, self._estimated = usage, True
        self._stop: str | None = None
        self.begun = False
        self._ended = False

    def take(self, event: Any) -> Iterator[StreamEvent]:
        match event.type:
            case "message_start":
                self.begun = True
                self._count(getattr(event.message, "usage", None))
                yield UsageSoFar(self._usage, self._estimated)
            case "content_block_start":
                self._blocks[event.index] = {**event.content_block.to_dict(), "json": ""}
                # The API leaves this text empty. Compatible servers may send the first piece here.
                if opening := self._blocks[event.index].get("text"):
                    yield TextDelta(opening)
            case "content_block_delta":
                yield from self._grow(self._blocks.setdefault(event.index, {"type": "text"}), event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._count(getattr(event, "usage", None))
                yield UsageSoFar(self._usage, self._estimated)
            case "message_stop":
                self._ended = True

    def _grow(self, block: dict[str, Any], delta: Any) -> Iterator[StreamEvent]:
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                yield TextDelta(delta.text)
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
                yield ThinkingDelta(delta.thinking)
            case "signature_delta":
                block["signature"] = (block.get("signature") or "") + delta.signature
            case "input_json_delta":
                block["json"] += delta.partial_json

    def _count(self, usage: Any) -> None:
        """Later counts replace earlier ones; a missing count keeps the earlier one."""
        before = self._usage
        if isinstance(getattr(usage, "input_tokens", None), int):
            self._estimated = False

        def newest(field: str, known: int) -> int:
            value = getattr(usage, field, None)
            return value if isinstance(value, int) else known

        self._usage = Usage(
            input=newest("input_tokens", before.input),
            output=newest("output_tokens", before.output),
            cache_read=newest("cache_read_input_tokens", before.cache_read),
            cache_write=newest("cache_creation_input_tokens", before.cache_write),
        )

    def end(self) -> Iterator[StreamEvent]:
        """Yield the answer.

        Raises:
            ProviderError: the stream is incomplete, or the answer is empty.
        """
        # A proxy that gives up closes the connection cleanly; only these two events prove that nothing is missing.
        if not self._ended or self._stop is None:
            raise cut()
        content = [built for _, block in sorted(self._blocks.items()) if (built := _built(block)) is not None]
        if self._stop == "refusal":
            yield TextDelta(DECLINED)
            yield decline(content, self._usage, DECLINED, estimated=self._estimated)
            return
        yield self._answer(content)

    def _answer(self, content: list[AssistantBlock]) -> Answer:
        try:
            return finish(content, self._usage, _STOPS.get(self._stop or "", "stop"), estimated=self._estimated)
        except ProviderError:
            if self._stop == "model_context_window_exceeded":
                raise ProviderError(
                    "the conversation fills the model's context window",
                    reason=FailureReason.CONTEXT_OVERFLOW,
                    code=self._stop,
                ) from None
            raise


def _built(block: dict[str, Any]) -> AssistantBlock | None:
    match block["type"]:
        case "text":
            return TextBlock(text=block.get("text", ""))
        case "thinking":
            return ThinkingBlock(thinking=block.get("thinking", ""), signature=block.get("signature") or None)
        case "redacted_thinking":
            # The API wants sealed thinking back unchanged. The prefix says which kind of block it was.
            return ThinkingBlock(thinking="", signature=f"{REDACTED}{block.get('data', '')}")
        case "tool_use":
            given = block.get("input") or {}
            # Without argument deltas, the whole input came with the start of the block.
            arguments = parse_arguments(block["json"]) if block["json"] else given
            return ToolCallBlock(id=block["id"], name=block["name"], arguments=arguments)
        case _:
            return None
