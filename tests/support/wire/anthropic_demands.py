"""What the Messages API demands of a request; it answers 400 to any other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.support.wire.demands import bad_names, bad_schema, repeated, unknown_fields
from tests.support.wire.files import IMAGES, PDF, is_base64

Block = dict[str, Any]

_FIELDS = ("model", "max_tokens", "messages", "system", "tools", "stream", "thinking", "output_config")
_BLOCKS = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}
_BLOCK_FIELDS = {
    "text": {"text"},
    "image": {"source"},
    "document": {"source", "title"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "tool_use": {"id", "name", "input"},
}
_UNMARKED = {"thinking", "redacted_thinking"}


def problems(body: dict[str, Any]) -> Iterator[str]:
    """Why the API would answer 400, in its own way of saying so."""
    yield from unknown_fields("", body, _FIELDS)
    if not (isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0):
        yield "max_tokens: Field required"
    if str(body).count("'cache_control'") > 4:
        yield "A maximum of 4 blocks with cache_control may be provided"
    for index, block in enumerate(body.get("system") or []):
        yield from _block(f"system.{index}", block, {"text"})
    yield from _tools(body.get("tools") or [])
    yield from _thinking(body)
    messages = body.get("messages") or []
    for index, message in enumerate(messages):
        yield from _message(index, message)
    if all(message.get("role") in _BLOCKS and isinstance(message["content"], list) for message in messages):
        yield from _order(messages)
        yield from _calls(messages, defined=bool(body.get("tools")))
        yield from _thoughts(messages, body.get("thinking") or {})


def _tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    names = [tool["name"] for tool in tools]
    yield from bad_names("tools", names)
    yield from repeated("tools", names)
    for index, tool in enumerate(tools):
        yield from unknown_fields(f"tools.{index}.", tool, ("name", "description", "input_schema", "cache_control"))
        yield from bad_schema(f"tools.{index}.input_schema", tool.get("input_schema"))


def _thinking(body: dict[str, Any]) -> Iterator[str]:
    match body.get("thinking"):
        case None | {"type": "disabled"}:
            pass
        case {"type": "adaptive"}:
            yield from _display(body["thinking"], {"type"})
        case {"type": "enabled", "budget_tokens": int(budget)}:
            yield from _display(body["thinking"], {"type", "budget_tokens"})
            if budget < 1024:
                yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            if budget >= body.get("max_tokens", 0):
                yield "`max_tokens` must be greater than `thinking.budget_tokens`"
        case other:
            yield f"thinking: Input tag {other!r} does not match any of the expected tags"
    config = body.get("output_config") or {"effort": "high"}
    if config.keys() != {"effort"} or config["effort"] not in ("low", "medium", "high", "xhigh", "max"):
        yield f"output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max', not {config}"


def _display(thinking: dict[str, Any], other: set[str]) -> Iterator[str]:
    yield from unknown_fields("thinking.", thinking, {"display", *other})
    if thinking.get("display") not in (None, "summarized", "omitted"):
        yield "thinking.display: Input should be 'summarized' or 'omitted'"


def _message(index: int, message: dict[str, Any]) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    yield from unknown_fields(f"messages.{index}.", message, {"role", "content"})
    if role not in _BLOCKS:
        yield f"messages: Unexpected role {role!r}. Allowed roles are 'user' or 'assistant'"
        return
    if not content:
        yield f"messages.{index}: content must not be empty"
    if isinstance(content, str):
        return
    for place, block in enumerate(content or []):
        yield from _block(f"messages.{index}.content.{place}", block, _BLOCKS[role])


def _block(place: str, block: Block, allowed: set[str]) -> Iterator[str]:
    kind = block.get("type", "")
    if kind not in allowed:
        yield f"{place}: Input tag {kind!r} does not match any of the expected tags: {sorted(allowed)}"
        return
    marked = set() if kind in _UNMARKED else {"cache_control"}
    yield from unknown_fields(f"{place}.{kind}.", block, {"type", *_BLOCK_FIELDS[kind], *marked})
    match block:
        case {"type": "text", "text": str(text)}:
            if not text.strip():
                yield f"{place}: text content blocks must contain non-whitespace text"
        case {"type": "thinking", "thinking": str(), "signature": str(signature)}:
            if not signature.startswith("signed "):
                yield f"{place}: Invalid `signature` in `thinking` block"
        case {"type": "redacted_thinking", "data": str()}:
            pass
        case {"type": "image" | "document"}:
            yield from _source(place, block)
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict()}:
            yield from bad_names(place, [name])
            if not re.fullmatch(r"[a-zA-Z0-9_-]+", call_id):
                yield f"{place}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        case {"type": "tool_result", "tool_use_id": str(), "content": list(inner)}:
            allowed = {"text"} if block.get("is_error") else {"text", "image", "document"}
            for number, each in enumerate(inner):
                yield from _block(f"{place}.content.{number}", each, allowed)
        case _:
            yield f"{place}.{kind}: Field required"


def _source(place: str, block: Block) -> Iterator[str]:
    kind, source = block["type"], block.get("source") or {}
    if source.get("type") != "base64":
        yield f"{place}.{kind}.source: Extra inputs are not permitted"
    wanted = {"document": PDF, "image": IMAGES}[kind]
    if source.get("media_type") not in wanted or not is_base64(source.get("data")):
        yield f"{place}.{kind}.source: Input should be base64 of {' or '.join(wanted)}"


def _order(messages: list[dict[str, Any]]) -> Iterator[str]:
    if not messages or messages[0]["role"] != "user":
        yield "messages: first message must use the user role"
    if messages and messages[-1]["role"] != "user":
        yield "This model does not support assistant message prefill. The conversation must end with a user message."
    for index, (one, other) in enumerate(pairwise(messages), start=1):
        if one["role"] == other["role"]:
            yield f"messages.{index}: roles must alternate"


def _calls(messages: list[dict[str, Any]], *, defined: bool) -> Iterator[str]:
    """Each call has its results at the beginning of the next message, and no result is without its call."""
    open_calls: list[str] = []
    seen: list[str] = []
    for index, message in enumerate(messages):
        kinds = [block["type"] for block in message["content"]]
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        if sorted(answered) != sorted(open_calls) or kinds[: len(answered)] != ["tool_result"] * len(answered):
            yield (
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after, or "
                f"`tool_result` blocks without their `tool_use`: {open_calls} and {answered}"
            )
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        seen += open_calls
    yield from repeated("messages: `tool_use` ids", seen)
    if open_calls:
        yield f"messages: `tool_use` ids were found without `tool_result` blocks immediately after: {open_calls}"
    if seen and not defined:
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools."


def _thoughts(messages: list[dict[str, Any]], thinking: dict[str, Any]) -> Iterator[str]:
    """A turn of calls that began without thinking goes on without."""
    begun = 0
    for index, message in enumerate(messages):
        if message["role"] == "user" and any(block["type"] != "tool_result" for block in message["content"]):
            begun = index + 1
    if thinking.get("type") == "enabled" and begun < len(messages) and messages[begun]["content"]:
        first = messages[begun]["content"][0]["type"]
        if first not in _UNMARKED:
            yield (
                f"messages.{begun}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block"
            )
