"""A request in the words of the Chat Completions API."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

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
from openclaw_workers.providers.attachments import data_for, data_url, note, shown_name
from openclaw_workers.providers.call import Call, plain_name
from openclaw_workers.providers.openai.client import plain_id
from openclaw_workers.providers.openai.dialects import COUNT, NEW_LIMIT, OLD_LIMIT, THOUGHTS
from openclaw_workers.providers.openai.tool_files import FILES_OF_TOOLS, files_of_results, text_with_notes
from openclaw_workers.providers.thinking import Parameters
from openclaw_workers.providers.wire_form import body, encoded, joined, tool_forms, wire_forms

Message = dict[str, Any]


def request_body(call: Call, wanted: Collection[str], step: Parameters) -> bytes:
    """With those fields otherwise that the server is known to want so, and the reasoning of `step`."""
    request = call.request
    fields: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        NEW_LIMIT if NEW_LIMIT in wanted else OLD_LIMIT: call.output_limit(),
        **step,
    }
    if COUNT not in wanted:
        fields[COUNT] = {"include_usage": True}
    messages = _messages(call, thoughts=THOUGHTS in wanted)
    if not request.tools:
        return body(fields, messages=messages)
    return body(fields, messages=messages, tools=tool_forms(request.tools, "chat", _tool))


def _tool(tool: ToolSpec) -> Message:
    schema = tool.input_schema or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def _messages(call: Call, *, thoughts: bool) -> list[bytes]:
    def convert(entry: TranscriptEntry) -> list[Message]:
        return _converted(entry, call.model, thoughts=thoughts)

    entries, line = call.request.messages, call.worker_line
    kept = entries[:-1] if line else entries
    messages = wire_forms(kept, f"{call.model.ref} chat {thoughts}", convert)
    # From the end, so that each insertion leaves the earlier indices valid.
    for index, files in reversed(files_of_results(kept)):
        messages.insert(index + 1, joined(_files(files, call.model)))
    if line:
        # Not from the kept forms: the line differs between workers and must not stay with the entry.
        newest = convert(entries[-1])
        newest[-1]["content"] = _with(newest[-1]["content"], line)
        messages.append(joined(newest))
    return [encoded({"role": "system", "content": call.system}), *messages] if call.system else messages


def _converted(entry: TranscriptEntry, model: ModelInfo, *, thoughts: bool) -> list[Message]:
    match entry:
        case UserEntry():
            return [{"role": "user", "content": _said(entry, model)}]
        case ToolResultEntry():
            # Images cannot be part of it; they follow in a user message, see `_files`.
            text = text_with_notes(entry)
            return [{"role": "tool", "tool_call_id": plain_id(entry.tool_call_id), "content": text}]
        case AssistantEntry():
            answered = _answered(entry)
            return [{**each, THOUGHTS: _thoughts(entry)} for each in answered] if thoughts else answered
        case _:
            return []


def _with(content: str | list[Message], line: str) -> str | list[Message]:
    """At its end: the API caches by what requests have in common from the beginning on."""
    if isinstance(content, str):
        return f"{content}\n\n{line}" if content else line
    return [*content, {"type": "text", "text": line}]


def _said(entry: UserEntry, model: ModelInfo) -> str | list[Message]:
    texts = [block.text for block in entry.content if block.text]
    if not entry.attachments:
        # One string: simple servers know nothing else.
        return "\n\n".join(texts)
    parts = [{"type": "text", "text": text} for text in texts]
    return [*parts, *(_attached(each, model) for each in entry.attachments)]


def _files(files: Sequence[Attachment], model: ModelInfo) -> list[Message]:
    """The files of tool results that the model accepts, as one user message."""
    parts = [part for each in files if (part := _attached(each, model))["type"] != "text"]
    return [{"role": "user", "content": [{"type": "text", "text": FILES_OF_TOOLS}, *parts]}] if parts else []


def _attached(attachment: Attachment, model: ModelInfo) -> Message:
    data = data_for(model, attachment)
    if data is None:
        return {"type": "text", "text": note(attachment)}
    url = data_url(attachment, data)
    if attachment.mime_type == PDF:
        return {"type": "file", "file": {"filename": shown_name(attachment), "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


def _answered(entry: AssistantEntry) -> list[Message]:
    text = "".join(block.text for block in entry.content if isinstance(block, TextBlock))
    calls = [_call(block) for block in entry.content if isinstance(block, ToolCallBlock)]
    if not text and not calls:
        return []
    # Null, not an empty string: so the API itself writes an answer that is nothing but tool calls.
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    return [message]


def _thoughts(entry: AssistantEntry) -> str:
    """What a model of this kind thought; a blank for others, where nothing at all would be refused."""
    said = (block for block in entry.content if isinstance(block, ThinkingBlock) and not block.signature)
    return "".join(block.thinking for block in said) or " "


def _call(block: ToolCallBlock) -> Message:
    function = {"name": plain_name(block.name), "arguments": json.dumps(block.arguments, ensure_ascii=False)}
    return {"id": plain_id(block.id), "type": "function", "function": function}
