"""The wire-level server refuses what the real APIs refuse; otherwise nothing that is asked of it shows anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.wire import anthropic_wire, chat_wire, responses_wire

SCHEMA = {"type": "object", "properties": {}}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def messages_api(**changes: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "signed hm"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [said("x")], "is_error": False}
    body = {
        "model": "m",
        "max_tokens": 4096,
        "stream": True,
        "system": [said("Be terse.")],
        "tools": [{"name": "read", "description": "", "input_schema": SCHEMA}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [
            {"role": "user", "content": [said("look")]},
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [result]},
        ],
    }
    return body | changes


def chat_api(**changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    body = {
        "model": "m",
        "max_tokens": 4096,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "read", "description": "", "parameters": SCHEMA}}],
        "messages": [
            {"role": "system", "content": "Be terse."},
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": ""},
        ],
    }
    return body | changes


def responses_api(**changes: Any) -> dict[str, Any]:
    body = {
        "model": "m",
        "max_output_tokens": 4096,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [{"type": "function", "name": "read", "description": "", "parameters": SCHEMA, "strict": False}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
            {"type": "reasoning", "id": "rs_a", "summary": [], "encrypted_content": "sealed hm"},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": ""},
        ],
    }
    return body | changes


Body = Callable[..., dict[str, Any]]
RULES: dict[Body, Any] = {messages_api: anthropic_wire, chat_api: chat_wire, responses_api: responses_wire}


@pytest.mark.parametrize("body", RULES)
def test_a_valid_request_is_accepted(body: Body) -> None:
    assert list(RULES[body].problems(body())) == []


def at(body: dict[str, Any], path: str) -> tuple[Any, Any]:
    """The container of a place, and its key there."""
    *way, last = [int(step) if step.lstrip("-").isdecimal() else step for step in path.split(".")]
    place: Any = body
    for step in way:
        place = place[step]
    return place, last


GONE = object()
LONG = "c" * 41
BAD: list[tuple[Body, str, Any, str]] = [
    (messages_api, "temperature", 0.5, "Extra inputs"),
    (messages_api, "max_tokens", GONE, "max_tokens"),
    (messages_api, "max_tokens", 1024, "greater than `thinking.budget_tokens`"),
    (messages_api, "thinking.budget_tokens", 1023, "1024"),
    (messages_api, "thinking.display", "loud", "thinking.display"),
    (messages_api, "thinking.type", "deep", "expected tags"),
    (messages_api, "output_config", {"effort": "none"}, "effort"),
    (messages_api, "system.0.text", " ", "non-whitespace"),
    (messages_api, "tools", GONE, "must define tools"),
    (messages_api, "tools.0.name", "a.b", "does not match"),
    (messages_api, "tools.0.input_schema", {}, "schema"),
    (messages_api, "messages.0.role", "system", "Unexpected role"),
    (messages_api, "messages.0.role", "assistant", "first message"),
    (messages_api, "messages.0.content", [], "empty"),
    (messages_api, "messages.0.content.0.text", "", "non-whitespace"),
    (messages_api, "messages.0.content.0.type", "input_text", "expected tags"),
    (messages_api, "messages.1.content.0.signature", "", "signature"),
    (messages_api, "messages.1.content.0", said("Looking."), "Expected `thinking`"),
    (messages_api, "messages.1.content.0.cache_control", {"type": "ephemeral"}, "Extra inputs"),
    (messages_api, "messages.1.content.1.id", "a|b", "pattern"),
    (messages_api, "messages.1.content.1.input", "{}", "Field required"),
    (messages_api, "messages.2", {"role": "user", "content": [said("and?")]}, "without `tool_result`"),
    (messages_api, "messages.2.content.0.tool_use_id", "t2", "without their `tool_use`"),
    (messages_api, "messages.2.content.0.content.0.text", "", "non-whitespace"),
    (messages_api, "messages.2", GONE, "must end with a user message"),
    (chat_api, "temperature_", 1, "Extra inputs"),
    (chat_api, "model", "gpt-5", "max_completion_tokens"),
    (chat_api, "max_completion_tokens", 5, "at the same time"),
    (chat_api, "reasoning_effort", "off", "reasoning_effort"),
    (chat_api, "stream", False, "stream_options"),
    (chat_api, "messages", [], "empty"),
    (chat_api, "messages.1.role", "human", "Invalid value"),
    (chat_api, "messages.1.content", [], "Invalid type"),
    (chat_api, "messages.1.content", [{"type": "input_text", "text": "x"}], "content part"),
    (chat_api, "messages.1.content", None, "got null"),
    (chat_api, "messages.2.tool_calls.0.id", LONG, "maximum length 40"),
    (chat_api, "messages.2.tool_calls.0.function.arguments", "{", "JSON object"),
    (chat_api, "messages.2.tool_calls", GONE, "got null"),
    (chat_api, "messages.3", GONE, "did not have response messages"),
    (chat_api, "messages.3.tool_call_id", "c2", "must be a response"),
    (responses_api, "messages", [], "Extra inputs"),
    (responses_api, "max_output_tokens", 15, ">= 16"),
    (responses_api, "model", "gpt-4.1", "not supported with this model"),
    (responses_api, "reasoning.effort", "off", "Unsupported value"),
    (responses_api, "input.0.content.0.type", "text", "Invalid value"),
    (responses_api, "input.0.content", [], "Missing"),
    (responses_api, "input.0.role", "human", "Missing"),
    (responses_api, "input.1.encrypted_content", "mine", "could not be verified"),
    (responses_api, "input.1.summary", GONE, "Missing"),
    (responses_api, "input.2.call_id", "c" * 65, "maximum length 64"),
    (responses_api, "input.2.arguments", {}, "JSON object"),
    (responses_api, "input.2", GONE, "No tool call found"),
    (responses_api, "input.3", GONE, "No tool output found"),
]


@pytest.mark.parametrize(("body", "path", "value", "problem"), BAD)
def test_an_invalid_request_is_refused(body: Body, path: str, value: Any, problem: str) -> None:
    request = body()
    place, key = at(request, path)
    if value is GONE:
        del place[key]
    else:
        place[key] = value
    assert problem in "; ".join(RULES[body].problems(request))


def test_no_more_than_four_places_are_marked_for_the_cache() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    assert list(anthropic_wire.problems(messages_api(system=[said("a") | mark] * 4))) == []
    assert "maximum of 4" in "; ".join(anthropic_wire.problems(messages_api(system=[said("a") | mark] * 5)))


@pytest.mark.parametrize(("model", "effort"), [("gpt-5", "none"), ("gpt-5-mini", "none"), ("o3", "minimal")])
def test_models_that_always_reason_cannot_be_asked_not_to(model: str, effort: str) -> None:
    refused = responses_api(model=model, reasoning={"effort": effort})
    assert "Unsupported value" in "; ".join(responses_wire.problems(refused))
    assert list(responses_wire.problems(responses_api(model="gpt-5.1", reasoning={"effort": "none"}))) == []
