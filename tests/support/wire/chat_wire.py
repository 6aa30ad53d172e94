"""The Chat Completions API: its chunks and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.wire.behaviour import Failure, Reply, pieces
from tests.support.wire.chat_demands import problems

__all__ = ["error_body", "error_event", "events", "problems"]

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
