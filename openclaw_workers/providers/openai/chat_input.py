"""A request in the words of the Chat Completions API."""

from __future__ import annotations

import json
from collections.abc import Collection
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
from openclaw_workers.providers.openai.dialects import COUNT, NEW_LIMIT, OLD_LIMIT, THOUGHTS

Message = dict[str, Any]


def parameters(call: Call, wanted: Collection[str] = ()) -> dict[str, Any]:
    """Everything but the reasoning, with those fields otherwise that the server is known to want so."""
    request = call.request
    built: dict[str, Any] = {
        "model": request.model,
        "messages": _messages(call, thoughts=THOUGHTS in wanted),
        NEW_LIMIT if NEW_LIMIT in wanted else OLD_LIMIT: call.output_limit(),
    }
    if COUNT not in wanted:
        built[COUNT] = {"include_usage": True}
    if request.tools:
        built["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema or {"type": "object", "properties": {}},
                },
            }
            for tool in request.tools
        ]
    return built


def _messages(call: Call, *, thoughts: bool) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": call.system}] if call.system else []
    for entry in call.request.messages:
        match entry:
            case UserEntry():
                messages.append({"role": "user", "content": _said(entry, call.model)})
            case ToolResultEntry():
                text = "\n".join(block.text for block in entry.content)
                message = {"role": "tool", "tool_call_id": plain_id(entry.tool_call_id), "content": text}
                messages.append(message)
            case AssistantEntry():
                messages += [{**each, THOUGHTS: _thoughts(entry)} if thoughts else each for each in _answered(entry)]
    if call.worker_line:
        messages[-1]["content"] = _with(messages[-1]["content"], call.worker_line)
    return messages


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
