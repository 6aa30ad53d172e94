"""A request in the words of the Messages API.

Cache marks stand on the last tool, on the system prompt and on the last user turn. All before a mark is the same
from call to call, so that each call reads what the one before has written. What varies by worker follows the last mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from openclaw_workers.config.model_catalog import ModelInfo
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    Attachment,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.providers.attachments import PDF, data_for, note, shown_name
from openclaw_workers.providers.call import Call, plain_name

Block = dict[str, Any]

REDACTED: Final = "redacted:"
"""Before the signature of a thinking block that the API gave us sealed."""

_CACHED: Final = {"type": "ephemeral"}


def parameters(call: Call) -> dict[str, Any]:
    """Everything but the thinking."""
    request = call.request
    messages = _messages(request.messages, call)
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"][-1]["cache_control"] = _CACHED
        if call.worker_line:
            messages[-1]["content"].append(_text(call.worker_line))
    built: dict[str, Any] = {
        "model": request.model,
        "max_tokens": call.output_limit(),
        "messages": messages,
    }
    if system := _system(call):
        built["system"] = system
    if request.tools:
        built["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema or _NO_INPUT}
            for tool in request.tools
        ]
        built["tools"][-1]["cache_control"] = _CACHED
    return built


_NO_INPUT: Final = {"type": "object", "properties": {}}


def _system(call: Call) -> list[Block]:
    blocks: list[Block] = []
    if call.request.system:
        blocks.append({"type": "text", "text": call.request.system, "cache_control": _CACHED})
    if call.request.system_tail:
        blocks.append({"type": "text", "text": call.request.system_tail})
    return blocks


def _messages(entries: Sequence[TranscriptEntry], call: Call) -> list[dict[str, Any]]:
    """Turns that alternate: results and what was said after them are one user turn."""
    messages: list[dict[str, Any]] = []
    for entry in entries:
        match entry:
            case UserEntry():
                role, blocks = "user", _said(entry, call.model)
            case ToolResultEntry():
                role, blocks = "user", [_result(entry)]
            case AssistantEntry():
                role, blocks = "assistant", _answered(entry, own=is_own(entry, call))
            case _:
                continue
        if not blocks:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def is_own(entry: AssistantEntry, call: Call) -> bool:
    """Whether the model asked now has written this; signatures of others would be refused."""
    return (entry.provider, entry.model) == (call.endpoint.provider, call.request.model)


def _said(entry: UserEntry, model: ModelInfo) -> list[Block]:
    blocks = [_text(block.text) for block in entry.content if block.text.strip()]
    blocks += [_attached(each, model) for each in entry.attachments]
    return blocks or [_text("(empty message)")]


def _attached(attachment: Attachment, model: ModelInfo) -> Block:
    data = data_for(model, attachment)
    if data is None:
        return _text(note(attachment))
    source = {"type": "base64", "media_type": attachment.mime_type, "data": data}
    if attachment.mime_type == PDF:
        return {"type": "document", "source": source, "title": shown_name(attachment)}
    return {"type": "image", "source": source}


def _result(entry: ToolResultEntry) -> Block:
    texts = [_text(block.text) for block in entry.content if block.text.strip()]
    return {
        "type": "tool_result",
        "tool_use_id": _id(entry.tool_call_id),
        "content": texts or [_text("(no output)")],
        "is_error": entry.is_error,
    }


def _answered(entry: AssistantEntry, *, own: bool) -> list[Block]:
    blocks: list[Block] = []
    for block in entry.content:
        match block:
            case TextBlock() if block.text.strip():
                blocks.append(_text(block.text))
            case ThinkingBlock() if own and block.signature:
                blocks.append(_thought(block.thinking, block.signature))
            case ToolCallBlock():
                name = plain_name(block.name)
                blocks.append({"type": "tool_use", "id": _id(block.id), "name": name, "input": block.arguments})
    return blocks if any(block["type"] in ("text", "tool_use") for block in blocks) else []


def _thought(thinking: str, signature: str) -> Block:
    if signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": signature.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": thinking, "signature": signature}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _id(call_id: str) -> str:
    """Ids of other providers may hold characters that are not allowed here."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
