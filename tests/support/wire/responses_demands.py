"""What the Responses API demands of a request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.support.wire.chat_demands import EFFORTS, reasons
from tests.support.wire.demands import bad_arguments, bad_names, bad_schema, repeated, unknown_fields
from tests.support.wire.files import IMAGES, PDF, is_data_url

_FIELDS = ("model", "input", "instructions", "max_output_tokens", "store", "stream", "include", "reasoning", "tools")
_ITEM_FIELDS = {
    "message": {"role", "content"},
    "function_call": {"call_id", "name", "arguments"},
    "function_call_output": {"call_id", "output"},
    "reasoning": {"id", "summary", "encrypted_content"},
}


def problems(body: dict[str, Any]) -> Iterator[str]:
    yield from unknown_fields("", body, _FIELDS)
    if not (isinstance(body.get("max_output_tokens"), int) and body["max_output_tokens"] >= 16):
        yield "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
    yield from _reasoning(body)
    tools = body.get("tools") or []
    yield from bad_names("tools", [tool["name"] for tool in tools])
    yield from repeated("tools", [tool["name"] for tool in tools])
    for index, tool in enumerate(tools):
        yield from unknown_fields(f"tools[{index}].", tool, ("type", "name", "description", "parameters", "strict"))
        yield from bad_schema(f"tools[{index}].parameters", tool.get("parameters"))
    items = body.get("input") or []
    if not items:
        yield "input: empty"
    for index, item in enumerate(items):
        yield from _item(f"input[{index}]", item)
    yield from _pairing(items)
    yield from _thoughts(items)


def _reasoning(body: dict[str, Any]) -> Iterator[str]:
    model, reasoning = body["model"], body.get("reasoning")
    if reasons(model) is False and (reasoning or body.get("include")):
        yield f"Unsupported parameter: 'reasoning.effort' is not supported with this model: {model}"
    yield from unknown_fields("reasoning.", reasoning or {}, {"effort", "summary"})
    effort = (reasoning or {}).get("effort", "medium")
    always = {"none", "minimal"} if re.match(r"o\d", model) else {"none"} if re.match(r"gpt-5($|-)", model) else set()
    if effort not in EFFORTS or effort in always:
        yield f"Unsupported value: {effort!r} is not supported with this model (reasoning.effort)."


def _item(place: str, item: dict[str, Any]) -> Iterator[str]:
    kind = item.get("type", "message")
    if kind not in _ITEM_FIELDS:
        yield f"{place}: Invalid value: {kind!r}"
        return
    yield from unknown_fields(f"{place}.", item, {"type", *_ITEM_FIELDS[kind]})
    match item:
        case {"role": "user" | "system" | "developer", "content": list(parts)} if parts:
            for part in parts:
                yield from _part(place, part)
        case {"role": "user" | "assistant", "content": str(text)} if text:
            pass
        case {"type": "function_call", "call_id": str(call_id), "name": name, "arguments": arguments}:
            if not 0 < len(call_id) <= 64:
                yield f"Invalid '{place}.call_id': string too long. Expected a string with maximum length 64."
            yield from bad_names(place, [name])
            yield from bad_arguments(place, arguments)
        case {"type": "function_call_output", "call_id": str(), "output": str()}:
            pass
        case {"type": "function_call_output", "call_id": str(), "output": list(parts)} if parts:
            for part in parts:
                yield from _part(f"{place}.output", part)
        case {"type": "reasoning", "id": str(name), "summary": list(), "encrypted_content": str(sealed)}:
            if not (name.startswith("rs_") and sealed.startswith("sealed ")):
                yield f"{place}: The encrypted_content could not be verified"
        case _:
            yield f"{place}: Missing required parameter, or of the wrong type"


def _part(place: str, part: dict[str, Any]) -> Iterator[str]:
    match part:
        case {"type": "input_text", "text": str(text)} if text:
            return
        case {"type": "input_image", "image_url": url} if is_data_url(url, IMAGES):
            return
        case {"type": "input_file", "filename": str(), "file_data": url} if is_data_url(url, PDF):
            return
    yield f"{place}: Invalid value: {part.get('type')!r}"


def _pairing(items: list[dict[str, Any]]) -> Iterator[str]:
    calls: list[str] = []
    for index, item in enumerate(items):
        if item.get("type") == "function_call":
            calls.append(item["call_id"])
        if item.get("type") == "function_call_output":
            if item["call_id"] not in calls:
                yield f"input[{index}]: No tool call found for function call output {item['call_id']}"
            else:
                calls.remove(item["call_id"])
    if calls:
        yield f"input: No tool output found for function call {calls}"


def _thoughts(items: list[dict[str, Any]]) -> Iterator[str]:
    for index, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        following = items[index + 1] if index + 1 < len(items) else {"role": "user"}
        if following.get("role") == "user" or following.get("type") == "function_call_output":
            yield f"input[{index}]: 'reasoning' was provided without its required following item"
    names = [item["id"] for item in items if item.get("type") == "reasoning"]
    yield from repeated("input: Duplicate item found with id", names)
