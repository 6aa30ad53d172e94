"""The Messages API: its events, its errors, and what it demands of a request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.support.wire.behaviour import Failure, Reply, bad_names, pieces
from tests.support.wire.files import IMAGES, PDF, is_base64

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


def problems(body: dict[str, Any]) -> Iterator[str]:
    """Why the API would answer 400, in its own way of saying so."""
    messages = body.get("messages") or []
    yield from bad_names("tools", [tool["name"] for tool in body.get("tools") or []])
    if not body.get("max_tokens"):
        yield "max_tokens: Field required"
    if not messages or messages[0]["role"] != "user":
        yield "messages: first message must use the user role"
    budget = (body.get("thinking") or {}).get("budget_tokens", 0)
    if budget and budget >= body.get("max_tokens", 0):
        yield "max_tokens must be greater than thinking.budget_tokens"
    if str(body).count("'cache_control'") > 4:
        yield "A maximum of 4 blocks with cache_control may be provided"
    for index, message in enumerate(messages):
        if index and messages[index - 1]["role"] == message["role"]:
            yield f"messages.{index}: roles must alternate"
        yield from _content(index, message)
        if message["role"] == "assistant":
            following = messages[index + 1]["content"] if index + 1 < len(messages) else []
            yield from _pairing(index, message["content"], following)
    yield from _strays(messages)


def _content(index: int, message: dict[str, Any]) -> Iterator[str]:
    if not message["content"]:
        yield f"messages.{index}: content must not be empty"
    yield from bad_names(
        f"messages.{index}", [each["name"] for each in message["content"] if each["type"] == "tool_use"]
    )
    for block in message["content"]:
        if block["type"] == "text" and not block["text"].strip():
            yield f"messages.{index}: text content blocks must contain non-whitespace text"
        if block["type"] == "thinking" and not block["signature"].startswith("signed "):
            yield f"messages.{index}: Invalid `signature` in `thinking` block"
        if block["type"] in ("image", "document"):
            yield from _source(index, block)
        if block["type"] == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
            yield f"messages.{index}: tool_use.id: String should match pattern"


def _source(index: int, block: dict[str, Any]) -> Iterator[str]:
    kind, source = block["type"], block.get("source") or {}
    if not (block.keys() <= {"type", "source", "title", "cache_control"} and source.get("type") == "base64"):
        yield f"messages.{index}: {kind}: Extra inputs are not permitted"
    wanted = {"document": PDF, "image": IMAGES}[kind]
    if source.get("media_type") not in wanted or not is_base64(source.get("data")):
        yield f"messages.{index}: {kind}.source: Input should be base64 of {' or '.join(wanted)}"


def _pairing(index: int, answered: list[dict[str, Any]], following: list[dict[str, Any]]) -> Iterator[str]:
    calls = [block["id"] for block in answered if block["type"] == "tool_use"]
    first = [block.get("tool_use_id") for block in following[: len(calls)] if block["type"] == "tool_result"]
    if sorted(calls) != sorted(map(str, first)):
        yield f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {calls}"


def _strays(messages: list[dict[str, Any]]) -> Iterator[str]:
    calls: set[str] = set()
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "tool_result" and block["tool_use_id"] not in calls:
                yield f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks"
        calls = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
