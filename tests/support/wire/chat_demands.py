"""What the Chat Completions API demands of a request; OpenAI's own models more than the servers that imitate it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.support.wire.demands import bad_arguments, bad_names, bad_schema, repeated, unknown_fields
from tests.support.wire.files import IMAGES, PDF, is_data_url

_FIELDS = (
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "tools",
)
_MESSAGE_FIELDS = {
    "system": {"content"},
    "developer": {"content"},
    "user": {"content"},
    "assistant": {"content", "tool_calls"},
    "tool": {"content", "tool_call_id"},
}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


def reasons(model: str) -> bool | None:
    """Whether one of OpenAI's own models reasons; None for those of others."""
    if re.match(r"o\d|gpt-([5-9]|\d\d)", model):
        return True
    return False if re.match(r"gpt-[34]", model) else None


def problems(body: dict[str, Any]) -> Iterator[str]:
    yield from unknown_fields("", body, _FIELDS)
    yield from _limits(body)
    tools = [tool.get("function") or {} for tool in body.get("tools") or []]
    names = [str(tool.get("name")) for tool in tools]
    yield from bad_names("tools", names)
    yield from repeated("tools", names)
    for index, tool in enumerate(tools):
        yield from unknown_fields(f"tools[{index}].function.", tool, ("name", "description", "parameters"))
        yield from bad_schema(f"tools[{index}].function.parameters", tool.get("parameters"))
    messages = body.get("messages")
    if not messages:
        yield "messages: empty"
    for index, message in enumerate(messages or []):
        # What DeepSeek and Kimi demand.
        extra = {"reasoning_content"} if body["model"].startswith("deepseek") else set()
        yield from _message(f"messages[{index}]", message, extra)
    yield from _pairing(messages or [])


def _limits(body: dict[str, Any]) -> Iterator[str]:
    names = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
    if len(names) > 1:
        yield "max_tokens: Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    for name in names:
        if not (isinstance(body[name], int) and body[name] > 0):
            yield f"Invalid {name!r}: integer below minimum value."
    if reasons(body["model"]) and "max_tokens" in body:
        yield (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
    effort = body.get("reasoning_effort")
    if effort is not None and (effort not in EFFORTS or reasons(body["model"]) is False):
        yield "Unrecognized request argument supplied: reasoning_effort"
    if body.get("stream_options") and not body.get("stream"):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."


def _message(place: str, message: dict[str, Any], extra: set[str]) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in _MESSAGE_FIELDS:
        yield f"{place}.role: Invalid value: {role!r}"
        return
    yield from unknown_fields(f"{place}.", message, {"role", *_MESSAGE_FIELDS[role], *extra})
    if isinstance(content, list):
        if role != "user" or not content:
            yield f"{place}.content: Invalid type: expected a string"
        for part in content:
            yield from _part(place, part)
    elif content is None and not message.get("tool_calls"):
        yield f"{place}.content: expected a string, got null"
    for number, call in enumerate(message.get("tool_calls") or []):
        yield from _call(f"{place}.tool_calls[{number}]", call)


def _part(place: str, part: dict[str, Any]) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str(text)} if text:
            return
        case {"type": "image_url", "image_url": {"url": url}} if is_data_url(url, IMAGES):
            return
        case {"type": "file", "file": {"filename": str(), "file_data": url}} if is_data_url(url, PDF):
            return
    yield f"{place}: invalid content part of type {part.get('type')}"


def _call(place: str, call: dict[str, Any]) -> Iterator[str]:
    match call:
        case {"id": str(call_id), "type": "function", "function": {"name": name, "arguments": arguments}}:
            if not 0 < len(call_id) <= 40:
                yield f"Invalid '{place}.id': string too long. Expected a string with maximum length 40."
            yield from bad_names(place, [name])
            yield from bad_arguments(place, arguments)
        case _:
            yield f"{place}: Missing required parameter"


def _pairing(messages: list[dict[str, Any]]) -> Iterator[str]:
    open_calls: list[str] = []
    for index, message in enumerate([*messages, {"role": "end"}]):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                yield f"messages[{index}]: messages with role 'tool' must be a response to 'tool_calls'"
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield f"messages[{index}]: tool_call_ids did not have response messages: {open_calls}"
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
        yield from repeated(f"messages[{index}]: tool_call_id", open_calls)
