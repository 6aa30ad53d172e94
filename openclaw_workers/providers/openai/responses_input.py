"""A request in the words of the Responses API.

Nothing is stored at OpenAI: the whole conversation is sent each time. Reasoning comes back sealed and is sent again
as it came, so that the model can go on from it between two tool calls.
"""

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
from openclaw_workers.providers.openai.dialects import RESULT_PARTS
from openclaw_workers.providers.openai.tool_files import FILES_OF_TOOLS, files_of_results, text_with_notes
from openclaw_workers.providers.thinking import Parameters
from openclaw_workers.providers.wire_form import body, joined, tool_forms, wire_forms

Item = dict[str, Any]


def request_body(call: Call, wanted: Collection[str], step: Parameters) -> bytes:
    """With those fields otherwise that the server is known to want so, and the reasoning of `step`."""
    request = call.request
    fields: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "max_output_tokens": call.output_limit(),
        "store": False,
        **step,
    }
    if call.system:
        fields["instructions"] = call.system
    if call.model.reasoning:
        fields["include"] = ["reasoning.encrypted_content"]
    items = _items(call, text_results=RESULT_PARTS in wanted)
    if not request.tools:
        return body(fields, input=items)
    return body(fields, input=items, tools=tool_forms(request.tools, "responses", _tool))


def _tool(tool: ToolSpec) -> Item:
    schema = tool.input_schema or {"type": "object", "properties": {}}
    named = {"name": tool.name, "description": tool.description}
    # Strict mode, the default here, refuses schemas with optional fields; Chat Completions has it off by default.
    return {"type": "function", **named, "parameters": schema, "strict": False}


def _items(call: Call, *, text_results: bool) -> list[bytes]:
    def convert(entry: TranscriptEntry) -> list[Item]:
        return _converted(entry, call, text_results=text_results)

    entries, line = call.request.messages, call.worker_line
    kept = entries[:-1] if line else entries
    # The name needs no `text_results`: that changes only entries with files, which are never kept.
    items = wire_forms(kept, f"{call.endpoint.provider} {call.model.ref} responses", convert)
    if text_results:
        for index, files in reversed(files_of_results(kept)):
            items.insert(index + 1, joined(_files(files, call.model)))
    if line:
        # At the end: the API caches by what requests have in common from the beginning on.
        newest = convert(entries[-1])
        newest[-1]["content"].append({"type": "input_text", "text": line})
        items.append(joined(newest))
    return items


def _converted(entry: TranscriptEntry, call: Call, *, text_results: bool) -> list[Item]:
    match entry:
        case UserEntry():
            return [{"role": "user", "content": _said(entry, call.model)}]
        case ToolResultEntry():
            output = text_with_notes(entry) if text_results else _output(entry, call.model)
            return [{"type": "function_call_output", "call_id": plain_id(entry.tool_call_id), "output": output}]
        case AssistantEntry():
            own = (entry.provider, entry.model) == (call.endpoint.provider, call.request.model)
            return _answered(entry, own=own)
        case _:
            return []


def _said(entry: UserEntry, model: ModelInfo) -> list[Item]:
    parts: list[Item] = [{"type": "input_text", "text": block.text} for block in entry.content if block.text]
    parts += [_attached(each, model) for each in entry.attachments]
    return parts or [{"type": "input_text", "text": "(empty message)"}]


def _output(entry: ToolResultEntry, model: ModelInfo) -> str | list[Item]:
    """A result as text; as parts only where it has files, because fewer servers know them."""
    if not entry.files:
        return entry.text
    text = [{"type": "input_text", "text": entry.text}] if entry.text else []
    return [*text, *(_attached(each, model) for each in entry.files)]


def _files(files: Sequence[Attachment], model: ModelInfo) -> list[Item]:
    """The files of tool results that the model accepts, as one user message."""
    parts = [part for each in files if (part := _attached(each, model))["type"] != "input_text"]
    return [{"role": "user", "content": [{"type": "input_text", "text": FILES_OF_TOOLS}, *parts]}] if parts else []


def _attached(attachment: Attachment, model: ModelInfo) -> Item:
    data = data_for(model, attachment)
    if data is None:
        return {"type": "input_text", "text": note(attachment)}
    url = data_url(attachment, data)
    if attachment.mime_type == PDF:
        return {"type": "input_file", "filename": shown_name(attachment), "file_data": url}
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _answered(entry: AssistantEntry, *, own: bool) -> list[Item]:
    items: list[Item] = []
    for block in entry.content:
        match block:
            case TextBlock() if block.text:
                items.append({"role": "assistant", "content": block.text})
            case ToolCallBlock():
                arguments = json.dumps(block.arguments, ensure_ascii=False)
                called = {"call_id": plain_id(block.id), "name": plain_name(block.name)}
                items.append({"type": "function_call", **called, "arguments": arguments})
            case ThinkingBlock() if own and block.signature:
                items.append(json.loads(block.signature))
    # Reasoning that nothing follows is refused.
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items
