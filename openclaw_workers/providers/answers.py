"""The end of a stream, for all providers: an empty, broken or incomplete answer is never passed on silently."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, NoReturn

from openclaw_workers.domain.tool_spec import RAW_ARGUMENTS
from openclaw_workers.domain.transcript import AssistantBlock, AssistantEntry, TextBlock, ToolCallBlock, Usage
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import Answer

StopReason = Literal["stop", "toolUse", "length"]

DECLINED: Final = "[The model declined to answer.]"


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse a tool call's arguments. If they are not a JSON object, keep the text, so that the tool can reject it."""
    if not text.strip():
        return {}
    try:
        # Python also reads NaN and Infinity, but neither the next request nor the stored entry could hold them.
        value = json.loads(text, parse_constant=_no_number)
    except ValueError:
        return {RAW_ARGUMENTS: text}
    return value if isinstance(value, dict) else {RAW_ARGUMENTS: text}


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def finish(content: list[AssistantBlock], usage: Usage, stop_reason: StopReason, *, estimated: bool = False) -> Answer:
    """Build the answer.

    Raises:
        ProviderError: it has neither text nor tool calls.
    """
    calls = any(isinstance(block, ToolCallBlock) for block in content)
    content = [block for block in content if not isinstance(block, TextBlock) or block.text]
    if not calls and not any(isinstance(block, TextBlock) and block.text.strip() for block in content):
        if stop_reason == "length":
            raise ProviderError(
                "the model used up its output tokens before it said anything",
                # Not CUT: the same call would run out of tokens again.
                reason=FailureReason.UNKNOWN,
                code="max_tokens",
                hint="lower the thinking level, or raise the model's maxTokens",
            )
        raise ProviderError("the model's answer was empty", reason=FailureReason.CUT, code="empty_answer")
    # The blocks decide and not the reported reason: a call that is left without a result makes the next request
    # invalid.
    stop_reason = "toolUse" if calls else stop_reason
    return Answer(content, _guessed(usage, content) if estimated else usage, stop_reason, estimated=estimated)


def decline(content: list[AssistantBlock], usage: Usage, text: str, *, estimated: bool = False) -> Answer:
    """Build the answer of a model that declined: its text, but never its tool calls."""
    kept: list[AssistantBlock] = [block for block in content if isinstance(block, TextBlock) and block.text]
    kept.append(TextBlock(text=text))
    usage = _guessed(usage, kept) if estimated else usage
    return Answer(kept, usage, "stop", refused=True, estimated=estimated)


def _guessed(usage: Usage, content: list[AssistantBlock]) -> Usage:
    """Add an estimate of the output if the API did not report it."""
    return usage if usage.output else usage.plus(Usage(output=AssistantEntry(content=content).approx_tokens))


def cut() -> ProviderError:
    return ProviderError("the model's answer was cut off", reason=FailureReason.CUT, code="stream_ended")
