"""The Chat Completions API: its chunks, its errors, and what it demands of a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.wire.behaviour import Failure, Reply, bad_names, pieces
from tests.support.wire.files import IMAGES, PDF, is_data_url

Event = tuple[str | None, Any]


def error_body(failure: Failure) -> dict[str, Any]:
    error = {"message": failure.message, "type": failure.type, "param": failure.param, "code": failure.code}
    return {"error": error}


def error_event(error: dict[str, Any]) -> Event:
    return None, {"error": error}


def events(reply: Reply, request: dict[str, Any]) -> Iterator[Event]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return None, {**_HEAD, "model": request["model"], "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.thinking):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for piece in pieces(reply.refusal):
        yield chunk({"refusal": piece})
    for index, call in enumerate(reply.calls):
        named = {"name": call.name, "arguments": ""}
        head = {"index": index, "id": call.id or f"call_{index}", "type": "function", "function": named}
        yield chunk({"tool_calls": [head]})
        for piece in pieces(call.json):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, reply.stop or ("tool_calls" if reply.calls else "stop"))
    if reply.counted and (request.get("stream_options") or {}).get("include_usage"):
        yield None, {**_HEAD, "model": request["model"], "choices": [], "usage": _usage(reply)}
    yield None, "[DONE]"


_HEAD = {"id": "chatcmpl-wire", "object": "chat.completion.chunk", "created": 1}


def _usage(reply: Reply) -> dict[str, Any]:
    whole = reply.input + reply.cache_read + reply.cache_write
    details = {"cached_tokens": reply.cache_read, "cache_write_tokens": reply.cache_write}
    return {
        "prompt_tokens": whole,
        "completion_tokens": reply.output,
        "total_tokens": whole + reply.output,
        "prompt_tokens_details": details,
    }


def problems(body: dict[str, Any]) -> Iterator[str]:
    open_calls: list[str] = []
    yield from bad_names("tools", [tool["function"]["name"] for tool in body.get("tools") or []])
    for index, message in enumerate(body.get("messages") or []):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"messages[{index}]: messages with role 'tool' must be a response to 'tool_calls'"
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield f"messages[{index}]: tool_call_ids did not have response messages: {open_calls}"
            open_calls = []
        yield from _parts(index, message.get("content"))
        if role == "assistant":
            calls = message.get("tool_calls") or []
            open_calls = [call["id"] for call in calls]
            yield from bad_names(f"messages[{index}]", [call["function"]["name"] for call in calls])
            if not message.get("content") and not open_calls:
                yield f"messages[{index}]: content is required"
    if open_calls:
        yield f"messages: tool_call_ids did not have response messages: {open_calls}"
    if not body.get("messages"):
        yield "messages: empty"


def _parts(index: int, content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else []:
        match part:
            case {"type": "text", "text": str()}:
                continue
            case {"type": "image_url", "image_url": {"url": url}} if is_data_url(url, IMAGES):
                continue
            case {"type": "file", "file": {"filename": str(), "file_data": url}} if is_data_url(url, PDF):
                continue
        yield f"messages[{index}]: invalid content part of type {part.get('type')}"
