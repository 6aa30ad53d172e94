"""The Messages API through Anthropic's SDK, on the wire."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.domain.transcript import (
    AssistantEntry,
    Attachment,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    Usage,
    UserEntry,
)
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import UsageSoFar
from tests.component.providers.wire_conversation import KEY, Wire
from tests.support.wire import Called, Failure, Reply, WireServer
from tests.unit.providers.offline_conversation import answer_of, calls_of, result, text_of, user

PIXEL = b"\x89PNG\r\n\x1a\n"
ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.fixture
def line(server: WireServer) -> Wire:
    return Wire(server, "anthropic-messages")


def test_text_streams_in_pieces_and_usage_is_told_before_the_end(line: Wire) -> None:
    line.server.script.append(Reply("Hello there, world", input=7, output=9, cache_read=100, cache_write=20))
    events = line.ask()
    assert text_of(events) == "Hello there, world"
    assert events[0] == UsageSoFar(Usage(input=7, output=1, cache_read=100, cache_write=20))
    assert line.entry(line.answer()).usage == Usage(input=10, output=5)
    assert events[-1].usage == Usage(input=7, output=9, cache_read=100, cache_write=20)  # type: ignore[union-attr]


def test_the_key_goes_out_as_both_headers_to_a_configured_address(line: Wire) -> None:
    line.ask()
    headers = line.server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-api-key"] == KEY


def test_a_tool_call_is_answered_in_the_next_request(line: Wire) -> None:
    line.server.script.append(Reply("Looking.", calls=[Called("read", {"path": "a.txt"}), Called("read", {}, "t_2")]))
    first = line.ask("look")
    calls = calls_of(first)
    assert [(call.name, call.arguments) for call in calls] == [("read", {"path": "a.txt"}), ("read", {})]
    said = line.entry(answer_of(first))
    line.ask("look", said, result(calls[0], "content"), result(calls[1], "no file", is_error=True), "also this")
    roles = [message["role"] for message in line.sent["messages"]]
    assert roles == ["user", "assistant", "user"]
    results = line.sent["messages"][2]["content"]
    assert [block["type"] for block in results] == ["tool_result", "tool_result", "text"]
    assert [block.get("is_error") for block in results] == [False, True, None]


def test_thinking_is_kept_with_its_signature_and_sent_back(line: Wire) -> None:
    line.server.script.append(Reply(thinking="let me see", redacted="sealed", calls=[Called("read", {"path": "a"})]))
    events = line.ask("go", thinking="low")
    answer = answer_of(events)
    assert answer.content[:2] == [
        ThinkingBlock(thinking="let me see", signature="signed let me see"),
        ThinkingBlock(thinking="", signature="redacted:sealed"),
    ]
    line.ask("go", line.entry(answer), result(calls_of(events)[0], "x"), thinking="low")
    assert [block["type"] for block in line.sent["messages"][1]["content"]] == [
        "thinking",
        "redacted_thinking",
        "tool_use",
    ]
    assert line.sent["thinking"]["type"] == "enabled"


def test_thinking_of_another_model_is_not_sent(line: Wire) -> None:
    other = AssistantEntry(
        content=[ThinkingBlock(thinking="mine", signature="foreign"), ToolCallBlock(id="call|1", name="read")],
        provider="openai",
        model="gpt-5",
    )
    line.ask("go", other, result(ToolCallBlock(id="call|1", name="read"), "x"), thinking="high")
    answered = line.sent["messages"][1]["content"]
    assert [(block["type"], block["id"]) for block in answered] == [("tool_use", "call_1")]
    # Thinking cannot begin between a call and its result.
    assert line.sent["thinking"] == {"type": "disabled"}


def test_thinking_goes_on_between_calls_of_which_the_first_was_thought_about(line: Wire) -> None:
    """The model thinks before the first; to be told otherwise in between would also cost the cache of what was said."""
    line.server.script += [
        Reply(thinking="let me see", calls=[Called("read", {})]),
        Reply(calls=[Called("read", {}, "t2")]),
    ]
    first = line.ask("go", thinking="low")
    said = (user("go"), line.entry(answer_of(first)), result(calls_of(first)[0], "x"))
    second = line.ask(*said, thinking="low")
    line.ask(*said, line.entry(answer_of(second)), result(calls_of(second)[0], "y"), thinking="low")
    budgets = [request.body["thinking"].get("budget_tokens") for request in line.server.requests]
    assert budgets == [2048, 2048, 2048]
    assert line.server.requests[-1].problems == []


def test_where_thoughts_cannot_be_asked_for_the_level_stays(server: WireServer) -> None:
    line = Wire(server, "anthropic-messages", model="claude-older-5")
    server.script.append(Failure(400, "thinking.adaptive.display: Extra inputs are not permitted"))
    line.ask(thinking="high")
    assert [request.body["thinking"] for request in server.requests] == [ADAPTIVE, {"type": "adaptive"}]
    assert {request.body["output_config"]["effort"] for request in server.requests} == {"high"}


def test_only_the_same_prefix_is_marked_for_the_cache(line: Wire) -> None:
    line.ask("one", system="Rules.", system_tail="Channel: a.", worker_line="Host: a.")
    first = line.sent
    assert first["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in first["system"][1]
    assert first["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert first["messages"][-1]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert first["messages"][-1]["content"][1:] == [{"type": "text", "text": "Host: a."}]
    said = "one", AssistantEntry(content=[TextBlock(text="yes")]), "two"
    line.ask(*said, system="Rules.", system_tail="Channel: a.", worker_line="Host: b.")
    again = line.sent
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
def test_levels_are_mapped_to_what_the_model_understands(
    server: WireServer, model: str, level: str, sent: tuple[object, object]
) -> None:
    line = Wire(server, "anthropic-messages", model=model)
    line.ask(thinking=level)
    assert (line.sent.get("thinking"), line.sent.get("output_config")) == sent


def test_a_model_that_does_not_reason_is_sent_no_thinking(server: WireServer) -> None:
    line = Wire(server, "anthropic-messages", reasoning=False)
    line.ask(thinking="high")
    assert "thinking" not in line.sent


def test_a_refused_level_is_lowered_and_remembered(server: WireServer) -> None:
    line = Wire(server, "anthropic-messages", model="claude-lowered-5")
    refused = Failure(400, "output_config.effort: 'xhigh' is not supported by this model")
    server.script += [refused, refused, Reply("fine")]
    assert text_of(line.ask(thinking="xhigh")) == "fine"
    line.ask(thinking="xhigh")
    efforts = [request.body["output_config"]["effort"] for request in server.requests]
    assert efforts == ["xhigh", "high", "medium", "medium"]


def test_an_error_about_a_message_with_thinking_is_no_refusal_of_the_level(line: Wire) -> None:
    line.server.script.append(Failure(400, "messages.1.content.0: Invalid `signature` in `thinking` block"))
    with pytest.raises(ProviderError) as failed:
        line.ask(thinking="high")
    assert failed.value.reason is FailureReason.FORMAT
    assert len(line.server.requests) == 1


def test_images_go_to_models_that_see_and_other_files_are_named(server: WireServer, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(PIXEL)
    files = [
        Attachment(name="p.png", mime_type="image/png", path=str(picture)),
        Attachment(name="r.pdf", mime_type="application/pdf", path="/inbox/r.pdf"),
        Attachment(name="gone.png", mime_type="image/png", path=str(tmp_path / "gone.png")),
    ]
    asked = UserEntry(content=[TextBlock(text="see")], attachments=files)
    line = Wire(server, "anthropic-messages")
    line.ask(asked)
    blocks = line.sent["messages"][0]["content"]
    assert [block["type"] for block in blocks] == ["text", "image", "text", "text"]
    assert blocks[2]["text"] == "[attached file: r.pdf (application/pdf) at /inbox/r.pdf]"
    blind = Wire(server, "anthropic-messages", input=["text"])
    blind.ask(asked)
    assert "p.png (image/png)" in blind.sent["messages"][0]["content"][1]["text"]


def test_blank_messages_do_not_make_a_request_invalid(line: Wire) -> None:
    silent = AssistantEntry(content=[TextBlock(text="")])
    line.ask(user(" "), silent, user("now"))
    assert [message["role"] for message in line.sent["messages"]] == ["user"]
    assert line.server.requests[-1].problems == []


def test_a_refusal_is_told_and_its_calls_are_not_made(line: Wire) -> None:
    line.server.script.append(Reply("I was going to", calls=[Called("read", {})], stop="refusal"))
    events = line.ask()
    assert text_of(events) == "I was going to[The model declined to answer.]"
    assert calls_of(events) == []
    assert answer_of(events).refused


def test_a_full_window_without_an_answer_is_an_overflow(line: Wire) -> None:
    line.server.script.append(Reply(stop="model_context_window_exceeded"))
    with pytest.raises(ProviderError) as failed:
        line.ask()
    assert failed.value.reason is FailureReason.CONTEXT_OVERFLOW
