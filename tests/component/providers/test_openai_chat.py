"""The Chat Completions API through OpenAI's SDK, on the wire."""

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
from openclaw_workers.providers.base import UsageSoFar
from tests.component.providers.wire_conversation import KEY, Wire
from tests.support.wire import Called, Failure, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour
from tests.unit.providers.offline_conversation import answer_of, calls_of, result, text_of


@pytest.fixture
def line(server: WireServer) -> Wire:
    return Wire(server, "openai-completions")


def test_text_streams_in_pieces_and_the_cache_is_not_counted_twice(line: Wire) -> None:
    line.server.script.append(Reply("Hello there, world", input=7, output=9, cache_read=100, cache_write=20))
    events = line.ask()
    assert text_of(events) == "Hello there, world"
    assert isinstance(events[0], UsageSoFar)
    assert events[0].usage.input > 0, "a call given up before the end is not free"
    assert answer_of(events).usage == Usage(input=7, output=9, cache_read=100, cache_write=20)


def test_headers_of_the_provider_and_of_the_model_go_along(server: WireServer) -> None:
    of_the_provider = {"headers": {"x-provider": "ours", "x-both": "ours"}}
    of_the_model = {"x-model": "mine", "x-both": "mine"}
    line = Wire(server, "openai-completions", provider_settings=of_the_provider, headers=of_the_model)
    line.ask()
    headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-provider"], headers["x-model"]) == (f"Bearer {KEY}", "ours", "mine")
    assert headers["x-both"] == "mine", "the model's goes before"


def test_a_tool_call_is_answered_in_the_next_request(line: Wire) -> None:
    line.server.script.append(Reply("Looking.", calls=[Called("read", {"path": "a.txt"}), Called("read", {})]))
    first = line.ask("look")
    calls = calls_of(first)
    assert [(call.id, call.arguments) for call in calls] == [("call_0", {"path": "a.txt"}), ("call_1", {})]
    line.ask("look", line.entry(answer_of(first)), result(calls[0], "content"), result(calls[1], "x"), "also this")
    roles = [message["role"] for message in line.sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert line.sent["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"path": "a.txt"}'


def test_thinking_of_local_models_is_kept_and_not_sent_back(line: Wire) -> None:
    line.server.script.append(Reply("four", thinking="two and two"))
    answer = line.answer("sum")
    assert answer.content == [ThinkingBlock(thinking="two and two"), TextBlock(text="four")]
    line.ask("sum", line.entry(answer), "again")
    assert line.sent["messages"][2] == {"role": "assistant", "content": "four"}


@pytest.mark.parametrize(
    "told",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ],
)
def test_a_server_that_wants_to_hear_the_thoughts_again_does(server: WireServer, told: str) -> None:
    """As DeepSeek does, and Kimi, which takes no empty ones."""
    line = Wire(server, "openai-completions", model=f"deepseek-{len(told)}")
    server.script += [Reply(thinking="I must read", calls=[Called("read", {})]), Failure(400, told)]
    first = line.ask("look", thinking="high")
    call = calls_of(first)[0]
    said = (line.entry(answer_of(first)), result(call, "x"), AssistantEntry(content=[TextBlock(text="Done.")]))
    line.ask("look", *said, "again", thinking="high")
    line.ask("look", *said, "and again", thinking="high")
    thoughts = [
        [message.get("reasoning_content") for message in request.body["messages"] if message["role"] == "assistant"]
        for request in server.requests
    ]
    assert thoughts == [[], [None, None], ["I must read", " "], ["I must read", " "]]
    assert {request.body["reasoning_effort"] for request in server.requests} == {"high"}
    assert [request.problems for request in server.requests] == [[]] * 4


@pytest.mark.parametrize(("level", "effort"), [("off", "none"), ("minimal", "minimal"), ("xhigh", "xhigh")])
def test_levels_are_reasoning_efforts(line: Wire, level: str, effort: str) -> None:
    line.ask(thinking=level)
    assert line.sent["reasoning_effort"] == effort


def test_a_model_that_does_not_reason_is_sent_no_effort(server: WireServer) -> None:
    line = Wire(server, "openai-completions", reasoning=False)
    line.ask(thinking="high")
    assert "reasoning_effort" not in line.sent


def test_a_server_that_does_not_know_the_effort_at_all_is_asked_without(server: WireServer) -> None:
    line = Wire(server, "openai-completions", model="old-server")

    def refuse(request: object) -> Reply | Failure:
        if "reasoning_effort" in request.body:  # type: ignore[attr-defined]
            return Failure(400, "Unrecognized request argument supplied: reasoning_effort", param="reasoning_effort")
        return Reply("fine")

    server.answer = refuse
    assert text_of(line.ask(thinking="low")) == "fine"
    asked = len(server.requests)
    assert text_of(line.ask(thinking="low")) == "fine"
    assert len(server.requests) == asked + 1, "what was refused once is not asked again"


def test_a_configured_address_is_sent_the_limit_under_its_old_name(line: Wire) -> None:
    line.ask()
    assert line.sent["max_tokens"] == 40_000
    assert "max_completion_tokens" not in line.sent


def test_it_is_told_under_the_new_name_where_the_model_wants_that(server: WireServer) -> None:
    """As behind Azure's address, or OpenAI's own where it is given."""
    line = Wire(server, "openai-completions", model="gpt-5.1")
    assert text_of(line.ask(thinking="low")) == "ok"
    assert text_of(line.ask(thinking="low")) == "ok"
    names = [[name for name in request.body if name.startswith("max_")] for request in server.requests]
    assert names == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]
    assert {request.body["reasoning_effort"] for request in server.requests} == {"low"}


def test_a_server_that_cannot_be_asked_to_count_is_not_and_its_tokens_are_estimated(server: WireServer) -> None:
    line = Wire(server, "openai-completions", model="uncounted")

    def refuse(request: Recorded) -> Behaviour:
        asked = "stream_options" in request.body
        return Failure(422, "body.stream_options: Extra inputs are not permitted") if asked else Reply("ok")

    server.answer = refuse

    first, second = line.ask(), line.ask()

    assert (text_of(first), text_of(second)) == ("ok", "ok")
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]
    assert answer_of(second).estimated


def test_an_answer_is_not_allowed_more_than_the_window_has_left(server: WireServer) -> None:
    line = Wire(server, "openai-completions", contextWindow=20_000, maxTokens=8_000)
    line.ask("short")
    assert line.sent["max_tokens"] == 8_000
    line.ask("x" * 50_000)
    assert 2_048 < line.sent["max_tokens"] < 5_000
    line.ask("x" * 79_000)
    assert line.sent["max_tokens"] == 2_048


def test_images_go_to_models_that_see_and_other_files_are_named(line: Wire, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(b"png")
    files = [
        Attachment(name="p.png", mime_type="image/png", path=str(picture)),
        Attachment(name="r.pdf", mime_type="application/pdf", path="/inbox/r.pdf"),
    ]
    line.ask(UserEntry(content=[TextBlock(text="see")], attachments=files))
    parts = line.sent["messages"][1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text"]
    assert parts[1]["image_url"]["url"] == "data:image/png;base64,cG5n"


def test_a_refusal_is_told_in_the_models_words(line: Wire) -> None:
    line.server.script.append(Reply(refusal="I cannot help with that.", calls=[Called("read", {})]))
    events = line.ask()
    assert text_of(events) == "I cannot help with that."
    assert answer_of(events).refused
    assert calls_of(events) == []


def test_a_filtered_answer_says_so(line: Wire) -> None:
    line.server.script.append(Reply("Well, ", stop="content_filter"))
    events = line.ask()
    assert text_of(events) == "Well, [The model declined to answer.]"


def test_ids_of_other_providers_are_made_to_fit(line: Wire) -> None:
    call = ToolCallBlock(id="call|x", name="read")
    line.ask("a", AssistantEntry(content=[call]), result(call, "b"))
    assert line.sent["messages"][2]["tool_calls"][0]["id"] == line.sent["messages"][3]["tool_call_id"] == "call_x"


def test_ids_that_are_too_long_are_shortened_and_stay_apart(line: Wire) -> None:
    """vLLM's have 46 characters, and OpenAI takes 40."""
    calls = [ToolCallBlock(id=f"chatcmpl-tool-{'0' * 31}{number}", name="read") for number in range(2)]
    line.ask("a", AssistantEntry(content=calls), *(result(call, "b") for call in calls))
    assert line.server.requests[-1].problems == []
    sent = [call["id"] for call in line.sent["messages"][2]["tool_calls"]]
    assert len(set(sent)) == 2
    assert sent == [message["tool_call_id"] for message in line.sent["messages"][3:]]
