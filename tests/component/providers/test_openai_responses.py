"""The Responses API through OpenAI's SDK, on the wire."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.domain.transcript import AssistantEntry, Attachment, TextBlock, ThinkingBlock, Usage, UserEntry
from openclaw_workers.errors import FailureReason, ProviderError
from tests.component.providers.wire_conversation import Wire
from tests.support.wire import Called, Failure, Reply, WireServer
from tests.unit.providers.offline_conversation import answer_of, calls_of, result, text_of


@pytest.fixture
def line(server: WireServer) -> Wire:
    return Wire(server, "openai-responses")


def test_text_streams_and_the_cache_is_not_counted_twice(line: Wire) -> None:
    line.server.script.append(Reply("Hello there, world", input=7, output=9, cache_read=100))
    events = line.ask()
    assert text_of(events) == "Hello there, world"
    assert answer_of(events).usage == Usage(input=7, output=9, cache_read=100)


def test_nothing_is_stored_at_the_provider(line: Wire) -> None:
    line.ask(system="Rules.", system_tail="Host: a.")
    assert line.sent["store"] is False
    assert line.sent["instructions"] == "Rules.\n\nHost: a."
    assert line.sent["include"] == ["reasoning.encrypted_content"]


def test_sealed_reasoning_goes_back_before_the_call_it_led_to(line: Wire) -> None:
    line.server.script.append(Reply("Looking.", thinking="I must read", calls=[Called("read", {"path": "a"})]))
    events = line.ask("look", thinking="high")
    thought = answer_of(events).content[0]
    assert isinstance(thought, ThinkingBlock)
    assert thought.thinking == "I must read"
    line.ask("look", line.entry(answer_of(events)), result(calls_of(events)[0], "content"), thinking="high")
    kinds = [item.get("type") or item["role"] for item in line.sent["input"]]
    assert kinds == ["user", "reasoning", "assistant", "function_call", "function_call_output"]
    assert line.sent["input"][1]["encrypted_content"] == "sealed I must read"
    assert line.server.requests[-1].problems == []


def test_reasoning_of_another_model_is_not_sent(line: Wire) -> None:
    other = AssistantEntry(
        content=[ThinkingBlock(thinking="mine", signature="foreign"), TextBlock(text="said")],
        provider="anthropic",
        model="claude-opus-4-6",
    )
    line.ask("a", other, "b")
    assert [item.get("type") or item["role"] for item in line.sent["input"]] == ["user", "assistant", "user"]


def test_a_level_asks_for_a_summary_too(line: Wire) -> None:
    line.ask(thinking="medium")
    assert line.sent["reasoning"] == {"effort": "medium", "summary": "auto"}


def test_a_summary_that_is_not_for_us_costs_no_thinking(server: WireServer) -> None:
    """OpenAI gives it to verified organisations alone."""
    line = Wire(server, "openai-responses", model="unverified")
    message = "Your organization must be verified to generate reasoning summaries."
    server.script.append(Failure(400, message, param="reasoning.summary", code="unsupported_value"))
    line.ask(thinking="medium")
    line.ask(thinking="high")
    asked = [request.body["reasoning"] for request in server.requests]
    assert asked == [{"effort": "medium", "summary": "auto"}, {"effort": "medium"}, {"effort": "high"}]


def test_where_the_least_is_more_than_was_asked_for_it_is_the_least(server: WireServer) -> None:
    line = Wire(server, "openai-responses", model="o3")
    assert text_of(line.ask(thinking="minimal")) == "ok"
    assert [request.body["reasoning"]["effort"] for request in server.requests] == ["minimal", "none", "low"]


def test_where_thinking_cannot_be_off_it_is_the_least(server: WireServer) -> None:
    line = Wire(server, "openai-responses", model="always-thinks")
    message = "Unsupported value: 'none' is not supported with this model."
    server.script.append(Failure(400, message, param="reasoning.effort", code="unsupported_value"))
    line.ask(thinking="off")
    line.ask(thinking="off")
    assert [request.body["reasoning"]["effort"] for request in server.requests] == ["none", "minimal", "minimal"]


def test_a_response_that_failed_tells_its_code(line: Wire) -> None:
    error = {"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 1.5s."}
    line.server.script.append(Reply("some", stop="failed", error=error))
    with pytest.raises(ProviderError) as failed:
        line.ask()
    assert failed.value.reason is FailureReason.RATE_LIMIT
    assert (failed.value.code, failed.value.retry_after) == ("rate_limit_exceeded", 1.5)


def test_an_answer_cut_at_its_limit_is_marked(line: Wire) -> None:
    line.server.script.append(Reply("as long as", stop="max_output_tokens"))
    assert line.answer().stop_reason == "length"


def test_images_go_to_models_that_see_and_other_files_are_named(line: Wire, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(b"png")
    files = [
        Attachment(name="p.png", mime_type="image/png", path=str(picture)),
        Attachment(name="r.pdf", mime_type="application/pdf", path="/inbox/r.pdf"),
    ]
    line.ask(UserEntry(content=[TextBlock(text="see")], attachments=files))
    parts = line.sent["input"][0]["content"]
    assert [part["type"] for part in parts] == ["input_text", "input_image", "input_text"]
    assert parts[1]["image_url"] == "data:image/png;base64,cG5n"
    assert "r.pdf (application/pdf)" in parts[2]["text"]


def test_a_refusal_is_told_in_the_models_words(line: Wire) -> None:
    line.server.script.append(Reply(refusal="I cannot help with that."))
    events = line.ask()
    assert text_of(events) == "I cannot help with that."
    assert answer_of(events).refused


def test_a_filtered_answer_says_so(line: Wire) -> None:
    line.server.script.append(Reply("Well, ", stop="content_filter"))
    assert text_of(line.ask()) == "Well, [The model declined to answer.]"
