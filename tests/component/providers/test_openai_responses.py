"""The Responses API through OpenAI's SDK, on the wire."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.transcript import ThinkingBlock
from openclaw_workers.errors import FailureReason, ProviderError
from tests.component.providers.wire_conversation import Wire
from tests.support.wire import Called, Failure, Reply, WireServer
from tests.unit.providers.offline_conversation import answer_of, calls_of, result, text_of


@pytest.fixture
def wire(server: WireServer) -> Wire:
    return Wire(server, "openai-responses")


def test_nothing_is_stored_at_the_provider(wire: Wire) -> None:
    wire.ask(system="Rules.", system_tail="Host: a.")
    assert wire.sent["store"] is False
    assert wire.sent["instructions"] == "Rules.\n\nHost: a."
    assert wire.sent["include"] == ["reasoning.encrypted_content"]


def test_sealed_reasoning_goes_back_before_the_call_it_led_to(wire: Wire) -> None:
    wire.server.script.append(Reply("Looking.", thinking="I must read", calls=[Called("read", {"path": "a"})]))
    events = wire.ask("look", thinking="high")
    thought = answer_of(events).content[0]
    assert isinstance(thought, ThinkingBlock)
    assert thought.thinking == "I must read"
    wire.ask("look", wire.entry(answer_of(events)), result(calls_of(events)[0], "content"), thinking="high")
    kinds = [item.get("type") or item["role"] for item in wire.sent["input"]]
    assert kinds == ["user", "reasoning", "assistant", "function_call", "function_call_output"]
    assert wire.sent["input"][1]["encrypted_content"] == "sealed I must read"
    assert wire.server.requests[-1].problems == []


def test_if_the_summary_is_refused_the_level_stays(server: WireServer) -> None:
    """OpenAI gives it only to verified organisations."""
    wire = Wire(server, "openai-responses", model="unverified")
    message = "Your organization must be verified to generate reasoning summaries."
    server.script.append(Failure(400, message, param="reasoning.summary", code="unsupported_value"))
    wire.ask(thinking="medium")
    wire.ask(thinking="high")
    asked = [request.body["reasoning"] for request in server.requests]
    assert asked == [{"effort": "medium", "summary": "auto"}, {"effort": "medium"}, {"effort": "high"}]


def test_a_level_below_the_models_lowest_becomes_the_lowest(server: WireServer) -> None:
    wire = Wire(server, "openai-responses", model="o3")
    assert text_of(wire.ask(thinking="minimal")) == "ok"
    assert [request.body["reasoning"]["effort"] for request in server.requests] == ["minimal", "none", "low"]


def test_if_thinking_cannot_be_off_the_lowest_level_is_used(server: WireServer) -> None:
    wire = Wire(server, "openai-responses", model="always-thinks")
    message = "Unsupported value: 'none' is not supported with this model."
    server.script.append(Failure(400, message, param="reasoning.effort", code="unsupported_value"))
    wire.ask(thinking="off")
    wire.ask(thinking="off")
    assert [request.body["reasoning"]["effort"] for request in server.requests] == ["none", "minimal", "minimal"]


def test_a_failed_response_has_its_code_and_retry_time(wire: Wire) -> None:
    error = {"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 1.5s."}
    wire.server.script.append(Reply("some", stop="failed", error=error))
    with pytest.raises(ProviderError) as failed:
        wire.ask()
    assert failed.value.reason is FailureReason.RATE_LIMIT
    assert (failed.value.code, failed.value.retry_after) == ("rate_limit_exceeded", 1.5)
