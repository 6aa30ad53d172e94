"""Short ways to hold a conversation with an offline model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.models.tools import ToolSpec
from openclaw_workers.models.transcript import (
    AssistantEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.providers.base import Answer, ModelRequest, StreamEvent, TextDelta
from openclaw_workers.providers.registry import get_provider

TOOLS = [ToolSpec(name, f"The tool {name}.", {}) for name in ("exec", "read", "write")]


def user(*texts: str, ids: Sequence[str] = ()) -> UserEntry:
    return UserEntry(content=[TextBlock(text=text) for text in texts], message_ids=list(ids))


def program(*steps: dict[str, Any]) -> str:
    return json.dumps({"steps": steps})


def ask(
    model: str,
    *messages: TranscriptEntry,
    tools: list[ToolSpec] = TOOLS,
    failed_calls: int = 0,
    cancel: Cancel | None = None,
) -> list[StreamEvent]:
    request = ModelRequest(model, "", list(messages), tools, failed_calls=failed_calls)
    return list(get_provider("offline").stream(request, cancel or Cancel()))


def answer_of(events: list[StreamEvent]) -> Answer:
    last = events[-1]
    assert isinstance(last, Answer)
    return last


def text_of(events: list[StreamEvent]) -> str:
    """The answer's text, which must be what was streamed."""
    streamed = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert entry_of(events).text == streamed
    return streamed


def calls_of(events: list[StreamEvent]) -> list[ToolCallBlock]:
    return entry_of(events).tool_calls


def entry_of(events: list[StreamEvent]) -> AssistantEntry:
    answer = answer_of(events)
    return AssistantEntry(content=answer.content, stop_reason=answer.stop_reason, usage=answer.usage)


def result(call: ToolCallBlock, text: str, *, is_error: bool = False) -> ToolResultEntry:
    return ToolResultEntry(tool_call_id=call.id, tool_name=call.name, content=[TextBlock(text=text)], is_error=is_error)
