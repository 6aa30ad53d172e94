"""A request in the words of the Messages API.

Cache marks stand on the last tool, on the system prompt and on the last user turn. All before a mark is the same
from call to call, so that each call reads what the one before has written. What varies by worker follows the last mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from openclaw_workers.config.model_catalog import ModelInfo
from openclaw_workers.domain.media_types import PDF
from openclaw_workers.domain.tool_spec import ToolSpec
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
from openclaw_workers.providers.attachments import data_for, note, shown_name
from openclaw_workers.providers.call import Call, plain_name
from openclaw_workers.providers.thinking import Parameters
from openclaw_workers.providers.wire_form import body, encoded, joined, tool_forms, wire_forms

Block = dict[str, Any]
Message = dict[str, Any]

REDACTED: Final = "redacted:"
"""Before the signature of a thinking block that the API gave us sealed."""

_CACHED: Final = {"type": "ephemeral"}
_OPENING: Final = {role: b'{"role":"%s","content":[' % role.encode() for role in ("user", "assistant")}
"""How a message begins on the wire."""


def request_body(call: Call, step: Parameters) -> bytes:
    """With the thinking of `step`."""
    request = call.request
    fields: dict[str, Any] = {"model": request.model, "max_tokens": call.output_limit(), "stream": True, **step}
    if system := _system(call):
        fields["system"] = system
    messages = _messages(request.messages, call)
    if not request.tools:
        return body(fields, messages=messages)
    *tools, last = request.tools
    # Built for each request: the cached form must stay without a mark, because another set of tools has another last
    # one.
    marked = encoded({**_tool(last), "cache_control": _CACHED})
    return body(fields, messages=messages, tools=[*tool_forms(tools, "messages", _tool), marked])


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema or _NO_INPUT}


_NO_INPUT: Final = {"type": "object", "properties": {}}


def _system(call: Call) -> list[Block]:
    blocks: list[Block] = []
    if call.request.system:
        # The mark stands before the tail, which differs between sessions: all sessions of an agent share this part.
        blocks.append({"type": "text", "text": call.request.system, "cache_control": _CACHED})
    if call.request.system_tail:
        blocks.append({"type": "text", "text": call.request.system_tail})
    return blocks


def _messages(entries: Sequence[TranscriptEntry], call: Call) -> list[bytes]:
    """Turns that alternate: results and what was said after them are one user turn."""

    def convert(entry: TranscriptEntry) -> list[Message]:
        blocks = _converted(entry, call)
        return [{"role": _role(entry), "content": blocks}] if blocks else []

    forms = wire_forms(entries, f"{call.endpoint.provider} {call.model.ref} messages", convert)
    # An answer without text or calls becomes nothing; the mark belongs on the last message that is sent.
    while forms and not forms[-1]:
        forms.pop()
    if forms and _role(entries[len(forms) - 1]) == "user":
        # Converted again: the kept form must have no mark, which moves with each call, and no line of this worker.
        newest = convert(entries[len(forms) - 1])
        newest[-1]["content"][-1]["cache_control"] = _CACHED
        if call.worker_line:
            newest[-1]["content"].append(_text(call.worker_line))
        forms[-1] = joined(newest)
    return _in_turns(entries, forms)


def _in_turns(entries: Sequence[TranscriptEntry], forms: Sequence[bytes]) -> list[bytes]:
    """The messages, those of one role that stand together made one."""
    if _alternate(entries[: len(forms)]) and all(forms):
        return list(forms)
    turns: list[bytes] = []
    last = ""
    for entry, message in zip(entries, forms, strict=False):
        role = "assistant" if entry.role == "assistant" else "user"
        if not message:
            continue
        if role == last:
            # Both are JSON that we wrote ourselves, so joining the bytes is safe and spares parsing a long
            # conversation.
            turns[-1] = turns[-1].removesuffix(b"]}") + b"," + message.removeprefix(_OPENING[role])
        else:
            turns.append(message)
            last = role
    return turns


def _alternate(entries: Sequence[TranscriptEntry]) -> bool:
    """Whether questions and answers take turns: the common case, which needs no loop over a long conversation."""
    kinds = list(map(type, entries))
    return set(kinds[::2]) == {UserEntry} and set(kinds[1::2]) <= {AssistantEntry}


def _role(entry: TranscriptEntry) -> str:
    return "assistant" if isinstance(entry, AssistantEntry) else "user"


def _converted(entry: TranscriptEntry, call: Call) -> list[Block]:
    match entry:
        case UserEntry():
            return _said(entry, call.model)
        case ToolResultEntry():
            return [_result(entry, call.model)]
        case AssistantEntry():
            return _answered(entry, own=is_own(entry, call))
        case _:
            return []


def is_own(entry: AssistantEntry, call: Call) -> bool:
    """Whether the model asked now has written this; signatures of others would be refused."""
    return (entry.provider, entry.model) == (call.endpoint.provider, call.request.model)


def _said(entry: UserEntry, model: ModelInfo) -> list[Block]:
    blocks = [_text(block.text) for block in entry.content if block.text.strip()]
    blocks += [_attached(each, model) for each in entry.attachments]
    # The API refuses empty content, and leaving out the turn would put two answers in a row.
    return blocks or [_text("(empty message)")]


def _attached(attachment: Attachment, model: ModelInfo) -> Block:
    data = data_for(model, attachment)
    if data is None:
        return _text(note(attachment))
    source = {"type": "base64", "media_type": attachment.mime_type, "data": data}
    if attachment.mime_type == PDF:
        return {"type": "document", "source": source, "title": shown_name(attachment)}
    return {"type": "image", "source": source}


def _result(entry: ToolResultEntry, model: ModelInfo) -> Block:
    blocks = []
    for block in entry.content:
        if not isinstance(block, TextBlock):
            # The result of a failed call may hold nothing but text.
            blocks.append(_text(note(block)) if entry.is_error else _attached(block, model))
        elif block.text.strip():
            blocks.append(_text(block.text))
    return {
        "type": "tool_result",
        "tool_use_id": _id(entry.tool_call_id),
        "content": blocks or [_text("(no output)")],
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
    # The API refuses an assistant message that ends with thinking.
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
