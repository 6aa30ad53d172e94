"""The Responses API: its events and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.support.wire.behaviour import Reply, pieces
from tests.support.wire.chat_wire import error_body
from tests.support.wire.responses_demands import problems

__all__ = ["error_body", "error_event", "events", "problems"]

Event = tuple[str | None, Any]

_THOUGHTS = count(1)
"""No two items of a conversation have one id."""


def error_event(error: dict[str, Any]) -> Event:
    return "error", {"sequence_number": 0, "param": None, "code": None, **error, "type": "error"}


def events(reply: Reply, request: dict[str, Any]) -> Iterator[Event]:
    number = count()

    def typed(kind: str, **fields: Any) -> Event:
        return kind, {"type": kind, "sequence_number": next(number), **fields}

    yield typed("response.created", response=_response(request, "in_progress", []))
    done: list[dict[str, Any]] = []
    for index, (item, deltas) in enumerate(_items(reply)):
        yield typed("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        for kind, delta in deltas:
            place = {"item_id": item["id"], "output_index": index, "content_index": 0, "summary_index": 0}
            yield typed(kind, delta=delta, **place)
        yield typed("response.output_item.done", output_index=index, item={**item, "status": "completed"})
        done.append(item)
    incomplete = {"max_output_tokens", "content_filter"} & {reply.stop}
    status = "failed" if reply.stop == "failed" else "incomplete" if incomplete else "completed"
    response = _response(request, status, done, usage=_usage(reply) if reply.counted else None)
    response["incomplete_details"] = {"reason": reply.stop} if incomplete else None
    if status == "failed":
        response["error"] = dict(reply.error)
    yield typed(f"response.{status}", response=response)


def _response(request: dict[str, Any], status: str, output: list[Any], **more: Any) -> dict[str, Any]:
    head = {"id": "resp_wire", "object": "response", "created_at": 1, "model": request["model"], "status": status}
    rest = {"output": output, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "error": None}
    return {**head, **rest, "incomplete_details": None, **more}


def _items(reply: Reply) -> Iterator[tuple[dict[str, Any], list[tuple[str, str]]]]:
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        item = {
            "type": "reasoning",
            "id": f"rs_{next(_THOUGHTS)}",
            "summary": summary,
            "encrypted_content": f"sealed {reply.thinking}",
        }
        yield item, [("response.reasoning_summary_text.delta", piece) for piece in pieces(reply.thinking)]
    if reply.text or reply.refusal:
        parts: list[dict[str, Any]] = []
        if reply.text:
            parts.append({"type": "output_text", "text": reply.text, "annotations": []})
        if reply.refusal:
            parts.append({"type": "refusal", "refusal": reply.refusal})
        deltas = [("response.output_text.delta", piece) for piece in pieces(reply.text)]
        deltas += [("response.refusal.delta", piece) for piece in pieces(reply.refusal)]
        yield {"type": "message", "id": "msg_1", "role": "assistant", "content": parts}, deltas
    for index, call in enumerate(reply.calls):
        item = {"type": "function_call", "id": f"fc_{index}", "call_id": call.id or f"call_{index}", "name": call.name}
        deltas = [("response.function_call_arguments.delta", piece) for piece in pieces(call.json)]
        yield {**item, "arguments": call.json}, deltas


def _usage(reply: Reply) -> dict[str, Any]:
    whole = reply.input + reply.cache_read + reply.cache_write
    return {
        "input_tokens": whole,
        "output_tokens": reply.output,
        "total_tokens": whole + reply.output,
        "input_tokens_details": {"cached_tokens": reply.cache_read, "cache_write_tokens": reply.cache_write},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
