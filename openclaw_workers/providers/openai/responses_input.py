"""A request in the words of the Responses API.

Nothing is stored at OpenAI: the whole conversation is sent each time. Reasoning comes back sealed and is sent again
as it came, so that the model can go on from it between two tool calls.
"""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.config.model_catalog import ModelInfo
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
from openclaw_workers.providers.attachments import PDF, data_for, data_url, note, shown_name
from openclaw_workers.providers.call import Call, plain_name
from openclaw_workers.providers.openai.client import plain_id
from openclaw_workers.providers.thinking import Parameters
from openclaw_workers.providers.wire_form import body, joined, tool_forms, wire_forms

Item = dict[str, Any]


def request_body(call: Call, step: Parameters) -> bytes:
    """With the reasoning of `step`."""
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
    items = _items(call)
    if not request.tools:
        return body(fields, input=items)
    return body(fields, input=items, tools=tool_forms(request.tools, "responses", _tool))


def _tool(tool: ToolSpec) -> Item:
    schema = tool.input_schema or {"type": "object", "properties": {}}
    named = {"name": tool.name, "description": tool.description}
    return {"type": "function", **named, "parameters": schema, "strict": False}


def _items(call: Call) -> list[bytes]:
    def convert(entry: TranscriptEntry) -> list[Item]:
        return _converted(entry, call)

    entries, line = call.request.messages, call.worker_line
    kept = entries[:-1] if line else entries
    items = wire_forms(kept, f"{call.endpoint.provider} {call.model.ref} responses", convert)
    if line:
        # At the end: the API caches by what requests have in common from the beginning on.
        newest = convert(entries[-1])
        newest[-1]["content"].append({"type": "input_text", "text": line})
        items.append(joined(newest))
    return items


def _converted(entry: TranscriptEntry, call: Call) -> list[Item]:
    match entry:
        case UserEntry():
            return [{"role": "user", "content": _said(entry, call.model)}]
        case ToolResultEntry():
            text = "\n".join(block.text for block in entry.content)
            return [{"type": "function_call_output", "call_id": plain_id(entry.tool_call_id), "output": text}]
        case AssistantEntry():
            own = (entry.provider, entry.model) == (call.endpoint.provider, call.request.model)
            return _answered(entry, own=own)
        case _:
            return []


def _said(entry: UserEntry, model: ModelInfo) -> list[Item]:
    parts: list[Item] = [{"type": "input_text", "text": block.text} for block in entry.content if block.text]
    parts += [_attached(each, model) for each in entry.attachments]
    return parts or [{"type": "input_text", "text": "(empty message)"}]


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
