"""A request in the words of the Responses API.

Nothing is stored at OpenAI: the whole conversation is sent each time. Reasoning comes back sealed and is sent again
as it came, so that the model can go on from it between two tool calls.
"""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.config.model_catalog import ModelInfo
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    Attachment,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultEntry,
    UserEntry,
)
from openclaw_workers.providers.attachments import PDF, data_for, data_url, note, shown_name
from openclaw_workers.providers.call import Call, plain_name
from openclaw_workers.providers.openai.client import plain_id

Item = dict[str, Any]


def parameters(call: Call) -> dict[str, Any]:
    """Everything but the reasoning."""
    request = call.request
    built: dict[str, Any] = {
        "model": request.model,
        "input": _items(call),
        "max_output_tokens": call.output_limit(),
        "store": False,
    }
    if call.system:
        built["instructions"] = call.system
    if call.model.reasoning:
        built["include"] = ["reasoning.encrypted_content"]
    if request.tools:
        built["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema or {"type": "object", "properties": {}},
                "strict": False,
            }
            for tool in request.tools
        ]
    return built


def _items(call: Call) -> list[Item]:
    items: list[Item] = []
    for entry in call.request.messages:
        match entry:
            case UserEntry():
                items.append({"role": "user", "content": _said(entry, call.model)})
            case ToolResultEntry():
                text = "\n".join(block.text for block in entry.content)
                call_id = plain_id(entry.tool_call_id)
                items.append({"type": "function_call_output", "call_id": call_id, "output": text})
            case AssistantEntry():
                own = (entry.provider, entry.model) == (call.endpoint.provider, call.request.model)
                items += _answered(entry, own=own)
    if call.worker_line:
        # At the end: the API caches by what requests have in common from the beginning on.
        items[-1]["content"].append({"type": "input_text", "text": call.worker_line})
    return items


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
