"""The Messages API: its events and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.wire.anthropic_demands import problems
from tests.support.wire.behaviour import Failure, Reply, pieces

__all__ = ["error_body", "error_event", "events", "problems"]

Event = tuple[str | None, Any]


def error_body(failure: Failure) -> dict[str, Any]:
    error: dict[str, Any] = {"type": failure.type, "message": failure.message}
    if failure.code:
        error["details"] = {"error_code": failure.code}
    return {"type": "error", "error": error, "request_id": "req_wire"}


def error_event(error: dict[str, Any]) -> Event:
    return "error", {"type": "error", "error": error}


def events(reply: Reply, request: dict[str, Any]) -> Iterator[Event]:
    usage: dict[str, int] = {
        "input_tokens": reply.input,
        "output_tokens": 1,
        "cache_read_input_tokens": reply.cache_read,
        "cache_creation_input_tokens": reply.cache_write,
    }
    if not reply.counted:
        usage = {}
    message = {"id": "msg_wire", "type": "message", "role": "assistant", "model": request["model"], "content": []}
    yield _typed("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})
    yield _typed("ping")
    for index, (block, deltas) in enumerate(_blocks(reply)):
        yield _typed("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield _typed("content_block_delta", index=index, delta=delta)
        yield _typed("content_block_stop", index=index)
    stop = reply.stop or ("refusal" if reply.refusal else "tool_use" if reply.calls else "end_turn")
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield _typed("message_delta", delta=delta, usage={"output_tokens": reply.output} if reply.counted else {})
    yield _typed("message_stop")


def _typed(kind: str, **fields: Any) -> Event:
    return kind, {"type": kind, **fields}


def _blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.thinking:
        deltas: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thinking)
        ]
        deltas.append({"type": "signature_delta", "signature": f"signed {reply.thinking}"})
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if reply.redacted:
        yield {"type": "redacted_thinking", "data": reply.redacted}, []
    if said := reply.text + reply.refusal:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(said)]
    for number, call in enumerate(reply.calls):
        block = {"type": "tool_use", "id": call.id or f"toolu_{number}", "name": call.name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(call.json)]]
