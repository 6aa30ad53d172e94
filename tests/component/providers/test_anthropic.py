"""The Messages API through Anthropic's SDK, on the wire."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    Usage,
)
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import UsageSoFar
from tests.component.providers.wire_conversation import KEY, Wire
from tests.support.wire import Called, Failure, Reply, WireServer
from tests.unit.providers.offline_conversation import answer_of, calls_of, result, text_of, user

ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.fixture
def wire(server: WireServer) -> Wire:
    return Wire(server, "anthropic-messages")


def test_the_whole_input_is_counted_at_the_start(wire: Wire) -> None:
    wire.server.script.append(Reply("Hello", input=7, output=9, cache_read=100, cache_write=20))
    assert wire.ask()[0] == UsageSoFar(Usage(input=7, output=1, cache_read=100, cache_write=20))


def test_the_key_goes_out_as_both_headers_to_a_configured_address(wire: Wire) -> None:
    wire.ask()
    headers = wire.server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-api-key"] == KEY


def test_results_and_the_message_after_them_are_one_user_turn(wire: Wire) -> None:
    wire.server.script.append(Reply("Looking.", calls=[Called("read", {"path": "a.txt"}), Called("read", {}, "t_2")]))
    first = wire.ask("look")
    calls = calls_of(first)
    said = wire.entry(answer_of(first))
    wire.ask("look", said, result(calls[0], "content"), result(calls[1], "no file", is_error=True), "also this")
    results = wire.sent["messages"][2]["content"]
    assert [block["type"] for block in results] == ["tool_result", "tool_result", "text"]
    assert [block.get("is_error") for block in results] == [False, True, None]


def test_thinking_is_kept_with_its_signature_and_sent_back(wire: Wire) -> None:
    wire.server.script.append(Reply(thinking="let me see", redacted="sealed", calls=[Called("read", {"path": "a"})]))
    events = wire.ask("go", thinking="low")
    answer = answer_of(events)
    assert answer.content[:2] == [
        ThinkingBlock(thinking="let me see", signature="signed let me see"),
        ThinkingBlock(thinking="", signature="redacted:sealed"),
    ]
    wire.ask("go", wire.entry(answer), result(calls_of(events)[0], "x"), thinking="low")
    assert [block["type"] for block in wire.sent["messages"][1]["content"]] == [
        "thinking",
        "redacted_thinking",
        "tool_use",
    ]
    assert wire.sent["thinking"]["type"] == "enabled"


def test_thinking_of_another_model_is_not_sent(wire: Wire) -> None:
    other = AssistantEntry(
        content=[ThinkingBlock(thinking="mine", signature="foreign"), ToolCallBlock(id="call|1", name="read")],
        provider="openai",
        model="gpt-5",
    )
    wire.ask("go", other, result(ToolCallBlock(id="call|1", name="read"), "x"), thinking="high")
    answered = wire.sent["messages"][1]["content"]
    assert [(block["type"], block["id"]) for block in answered] == [("tool_use", "call_1")]
    # Thinking cannot begin between a call and its result.
    assert wire.sent["thinking"] == {"type": "disabled"}


def test_thinking_stays_on_between_calls_if_the_first_had_thinking(wire: Wire) -> None:
    """The model thinks before the first call. Switching thinking off in between would also invalidate the cache."""
    wire.server.script += [
        Reply(thinking="let me see", calls=[Called("read", {})]),
        Reply(calls=[Called("read", {}, "t2")]),
    ]
    first = wire.ask("go", thinking="low")
    said = (user("go"), wire.entry(answer_of(first)), result(calls_of(first)[0], "x"))
    second = wire.ask(*said, thinking="low")
    wire.ask(*said, wire.entry(answer_of(second)), result(calls_of(second)[0], "y"), thinking="low")
    budgets = [request.body["thinking"].get("budget_tokens") for request in wire.server.requests]
    assert budgets == [2048, 2048, 2048]
    assert wire.server.requests[-1].problems == []


def test_if_showing_thoughts_is_refused_the_level_stays(server: WireServer) -> None:
    wire = Wire(server, "anthropic-messages", model="claude-older-5")
    server.script.append(Failure(400, "thinking.adaptive.display: Extra inputs are not permitted"))
    wire.ask(thinking="high")
    assert [request.body["thinking"] for request in server.requests] == [ADAPTIVE, {"type": "adaptive"}]
    assert {request.body["output_config"]["effort"] for request in server.requests} == {"high"}


def test_only_the_same_prefix_is_marked_for_the_cache(wire: Wire) -> None:
    wire.ask("one", system="Rules.", system_tail="Channel: a.", worker_line="Host: a.")
    first = wire.sent
    assert first["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in first["system"][1]
    assert first["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert first["messages"][-1]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert first["messages"][-1]["content"][1:] == [{"type": "text", "text": "Host: a."}]
    said = "one", AssistantEntry(content=[TextBlock(text="yes")]), "two"
    wire.ask(*said, system="Rules.", system_tail="Channel: a.", worker_line="Host: b.")
    again = wire.sent
    assert (again["system"], again["tools"]) == (first["system"], first["tools"])
    without_mark = [{**first["messages"][0]["content"][0]}]
    del without_mark[0]["cache_control"]
    assert again["messages"][0]["content"] == without_mark


@pytest.mark.parametrize(
    ("model", "level", "sent"),
    [
        ("claude-opus-4-6", "xhigh", (ADAPTIVE, {"effort": "xhigh"})),
        ("claude-opus-4-6", "minimal", (ADAPTIVE, {"effort": "low"})),
        ("claude-fable-5-2", "high", (ADAPTIVE, {"effort": "high"})),
        ("claude-sonnet-4-5", "high", ({"type": "enabled", "budget_tokens": 16_384}, None)),
        ("claude-sonnet-4-5-20250929", "xhigh", ({"type": "enabled", "budget_tokens": 20_000}, None)),
        ("claude-opus-4-6", "off", ({"type": "disabled"}, None)),
    ],
)
def test_levels_are_mapped_to_the_parameters_of_the_model(
    server: WireServer, model: str, level: str, sent: tuple[object, object]
) -> None:
    wire = Wire(server, "anthropic-messages", model=model)
    wire.ask(thinking=level)
    assert (wire.sent.get("thinking"), wire.sent.get("output_config")) == sent


def test_a_refused_level_is_lowered_and_remembered(server: WireServer) -> None:
    wire = Wire(server, "anthropic-messages", model="claude-lowered-5")
    refused = Failure(400, "output_config.effort: 'xhigh' is not supported by this model")
    server.script += [refused, refused, Reply("fine")]
    assert text_of(wire.ask(thinking="xhigh")) == "fine"
    wire.ask(thinking="xhigh")
    efforts = [request.body["output_config"]["effort"] for request in server.requests]
    assert efforts == ["xhigh", "high", "medium", "medium"]


def test_an_error_about_a_message_with_thinking_does_not_lower_the_level(wire: Wire) -> None:
    wire.server.script.append(Failure(400, "messages.1.content.0: Invalid `signature` in `thinking` block"))
    with pytest.raises(ProviderError) as failed:
        wire.ask(thinking="high")
    assert failed.value.reason is FailureReason.FORMAT
    assert len(wire.server.requests) == 1


def test_message_templates_do_not_make_a_request_invalid(wire: Wire) -> None:
    silent = AssistantEntry(content=[TextBlock(text="")])
    wire.ask(user(" "), silent, user("now"))
    assert [message["role"] for message in wire.sent["messages"]] == ["user"]
    assert wire.server.requests[-1].problems == []


def test_a_full_window_without_an_answer_is_an_overflow(wire: Wire) -> None:
    wire.server.script.append(Reply(stop="model_context_window_exceeded"))
    with pytest.raises(ProviderError) as failed:
        wire.ask()
    assert failed.value.reason is FailureReason.CONTEXT_OVERFLOW
