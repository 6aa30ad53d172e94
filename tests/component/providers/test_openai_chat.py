"""The Chat Completions API through OpenAI's SDK, on the wire."""

from __future__ import annotations

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from tests.component.providers.wire_conversation import KEY, Wire
from tests.support.wire import Called, Failure, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour
from tests.unit.providers.offline_conversation import answer_of, calls_of, result, text_of


@pytest.fixture
def wire(server: WireServer) -> Wire:
    return Wire(server, "openai-completions")


def test_headers_of_the_provider_and_of_the_model_are_sent(server: WireServer) -> None:
    of_the_provider = {"headers": {"x-provider": "ours", "x-both": "ours"}}
    of_the_model = {"x-model": "mine", "x-both": "mine"}
    wire = Wire(server, "openai-completions", provider_settings=of_the_provider, headers=of_the_model)
    wire.ask()
    headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-provider"], headers["x-model"]) == (f"Bearer {KEY}", "ours", "mine")
    assert headers["x-both"] == "mine", "the model's goes before"


def test_arguments_are_sent_back_as_json_text(wire: Wire) -> None:
    wire.server.script.append(Reply("Looking.", calls=[Called("read", {"path": "a.txt"}), Called("read", {})]))
    first = wire.ask("look")
    calls = calls_of(first)
    assert [call.id for call in calls] == ["call_0", "call_1"]
    wire.ask("look", wire.entry(answer_of(first)), result(calls[0], "content"), result(calls[1], "x"))
    assert wire.sent["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"path": "a.txt"}'


def test_thinking_of_local_models_is_kept_and_not_sent_back(wire: Wire) -> None:
    wire.server.script.append(Reply("four", thinking="two and two"))
    answer = wire.answer("sum")
    assert answer.content == [ThinkingBlock(thinking="two and two"), TextBlock(text="four")]
    wire.ask("sum", wire.entry(answer), "again")
    assert wire.sent["messages"][2] == {"role": "assistant", "content": "four"}


@pytest.mark.parametrize(
    "error",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ],
)
def test_a_server_that_wants_the_thoughts_back_gets_them(server: WireServer, error: str) -> None:
    """As DeepSeek does, and Kimi, which takes no empty ones."""
    wire = Wire(server, "openai-completions", model=f"deepseek-{len(error)}")
    server.script += [Reply(thinking="I must read", calls=[Called("read", {})]), Failure(400, error)]
    first = wire.ask("look", thinking="high")
    call = calls_of(first)[0]
    said = (wire.entry(answer_of(first)), result(call, "x"), AssistantEntry(content=[TextBlock(text="Done.")]))
    wire.ask("look", *said, "again", thinking="high")
    wire.ask("look", *said, "and again", thinking="high")
    thoughts = [
        [message.get("reasoning_content") for message in request.body["messages"] if message["role"] == "assistant"]
        for request in server.requests
    ]
    assert thoughts == [[], [None, None], ["I must read", " "], ["I must read", " "]]
    assert {request.body["reasoning_effort"] for request in server.requests} == {"high"}
    assert [request.problems for request in server.requests] == [[]] * 4


def test_a_server_that_does_not_know_efforts_is_called_without(server: WireServer) -> None:
    wire = Wire(server, "openai-completions", model="old-server")

    def refuse(request: object) -> Reply | Failure:
        if "reasoning_effort" in request.body:  # type: ignore[attr-defined]
            return Failure(400, "Unrecognized request argument supplied: reasoning_effort", param="reasoning_effort")
        return Reply("fine")

    server.answer = refuse
    assert text_of(wire.ask(thinking="low")) == "fine"
    asked = len(server.requests)
    assert text_of(wire.ask(thinking="low")) == "fine"
    assert len(server.requests) == asked + 1, "what was refused once is not asked again"


def test_a_configured_address_gets_the_limit_by_its_old_name(wire: Wire) -> None:
    wire.ask()
    assert wire.sent["max_tokens"] == 40_000
    assert "max_completion_tokens" not in wire.sent


def test_the_output_limit_has_its_new_name_if_the_model_wants_that(server: WireServer) -> None:
    """As at Azure, or at OpenAI's own address if it is configured."""
    wire = Wire(server, "openai-completions", model="gpt-5.1")
    assert text_of(wire.ask(thinking="low")) == "ok"
    assert text_of(wire.ask(thinking="low")) == "ok"
    names = [[name for name in request.body if name.startswith("max_")] for request in server.requests]
    assert names == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]
    assert {request.body["reasoning_effort"] for request in server.requests} == {"low"}


def test_a_server_that_rejects_stream_options_is_called_without_and_estimated(server: WireServer) -> None:
    wire = Wire(server, "openai-completions", model="uncounted")

    def refuse(request: Recorded) -> Behaviour:
        asked = "stream_options" in request.body
        return Failure(422, "body.stream_options: Extra inputs are not permitted") if asked else Reply("ok")

    server.answer = refuse

    first, second = wire.ask(), wire.ask()

    assert (text_of(first), text_of(second)) == ("ok", "ok")
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]
    assert answer_of(second).estimated


def test_the_output_limit_is_at_most_the_rest_of_the_window(server: WireServer) -> None:
    wire = Wire(server, "openai-completions", contextWindow=20_000, maxTokens=8_000)
    wire.ask("short")
    assert wire.sent["max_tokens"] == 8_000
    wire.ask("x" * 50_000)
    assert 2_048 < wire.sent["max_tokens"] < 5_000
    wire.ask("x" * 79_000)
    assert wire.sent["max_tokens"] == 2_048


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses"])
def test_a_refusal_keeps_the_models_words(server: WireServer, api: Api) -> None:
    wire = Wire(server, api)
    wire.server.script.append(Reply(refusal="I cannot help with that.", calls=[Called("read", {})]))
    events = wire.ask()
    assert text_of(events) == "I cannot help with that."
    assert answer_of(events).refused
    assert calls_of(events) == []


def test_long_ids_are_shortened_and_stay_unique(wire: Wire) -> None:
    """vLLM's have 46 characters, and OpenAI takes 40."""
    calls = [ToolCallBlock(id=f"chatcmpl-tool-{'0' * 31}{number}", name="read") for number in range(2)]
    wire.ask("a", AssistantEntry(content=calls), *(result(call, "b") for call in calls))
    assert wire.server.requests[-1].problems == []
    sent = [call["id"] for call in wire.sent["messages"][2]["tool_calls"]]
    assert len(set(sent)) == 2
    assert sent == [message["tool_call_id"] for message in wire.sent["messages"][3:]]
