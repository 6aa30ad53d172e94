"""What each of the three model APIs must do, through its real SDK. What only one of them does is in its own file."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import Api
from openclaw_workers.domain.tool_spec import RAW_ARGUMENTS
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    Attachment,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    Usage,
)
from openclaw_workers.errors import FailureReason as Why
from openclaw_workers.errors import ProviderError, ToolInputInvalid, TurnAborted
from openclaw_workers.providers.base import TextDelta, ThinkingDelta, UsageSoFar
from openclaw_workers.tools.files.read import Read
from tests.component.providers.wire_conversation import APIS, KEY, Wire, message_kinds, parts_sent
from tests.support.wire import Called, Failure, Raw, Reply, WireServer
from tests.unit.providers.offline_conversation import answer_of, calls_of, result, text_of
from tests.unit.providers.test_failures import BY_TEXT

LENGTH_STOP: dict[Api, str] = {
    "anthropic-messages": "max_tokens",
    "openai-completions": "length",
    "openai-responses": "max_output_tokens",
}
DECLINED_REPLY: dict[Api, Reply] = {
    "anthropic-messages": Reply("Well, ", calls=[Called("read", {})], stop="refusal"),
    "openai-completions": Reply("Well, ", calls=[Called("read", {})], stop="content_filter"),
    "openai-responses": Reply("Well, ", calls=[Called("read", {})], stop="content_filter"),
}
KINDS_AFTER_RESULTS: dict[Api, list[str]] = {
    "anthropic-messages": ["user", "assistant", "user"],
    "openai-completions": ["system", "user", "assistant", "tool", "tool", "user"],
    "openai-responses": [
        *("user", "assistant", "function_call", "function_call"),
        *("function_call_output", "function_call_output", "user"),
    ],
}


def failure(call: Callable[[], Any]) -> ProviderError:
    with pytest.raises(ProviderError) as failed:
        call()
    return failed.value


# --- Text, usage and thinking


def test_text_streams_in_pieces(wire: Wire) -> None:
    wire.server.script.append(Reply("Hello there, world"))
    events = wire.ask()
    assert text_of(events) == "Hello there, world"
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1


def test_tokens_of_the_cache_are_counted_once(wire: Wire, api: Api) -> None:
    written = 0 if api == "openai-responses" else 20
    wire.server.script.append(Reply("Hello", input=7, output=9, cache_read=100, cache_write=written))
    usage = Usage(input=7, output=9, cache_read=100, cache_write=written)
    assert wire.entry(wire.answer()).usage == usage


def test_usage_is_reported_before_the_text(wire: Wire) -> None:
    """An abandoned call is not free."""
    first = wire.ask()[0]
    assert isinstance(first, UsageSoFar)
    assert first.usage.input > 0


def test_an_answer_without_a_count_is_marked_as_estimated(server: WireServer) -> None:
    part = {"type": "text", "text": "ok"}
    message = {"type": "message", "content": [{"type": "output_text", "text": "ok"}]}
    silent: dict[Api, list[tuple[str | None, Any]]] = {
        "openai-completions": [
            (None, {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}),
        ],
        "openai-responses": [
            ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": message}),
            ("response.completed", {"type": "response.completed", "response": {"incomplete_details": None}}),
        ],
        "anthropic-messages": [
            ("message_start", {"type": "message_start", "message": {"id": "m", "content": []}}),
            ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": part}),
            ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            ("message_stop", {"type": "message_stop"}),
        ],
    }
    for api, events in silent.items():
        server.script += [Raw(events), Reply("ok")]
        wire = Wire(server, api)
        assert [wire.answer().estimated for _ in range(2)] == [True, False], api


def test_thinking_streams_before_the_text(wire: Wire) -> None:
    wire.server.script.append(Reply("It is four.", thinking="two and two, that is"))
    events = wire.ask("sum", thinking="low")
    thoughts = [event.text for event in events if isinstance(event, ThinkingDelta)]
    kinds = [type(event) for event in events if isinstance(event, ThinkingDelta | TextDelta)]
    assert "".join(thoughts) == "two and two, that is"
    assert len(thoughts) > 1
    assert kinds == sorted(kinds, key=lambda kind: kind is TextDelta)
    assert text_of(events) == "It is four."


def test_thinking_of_another_model_is_not_sent(wire: Wire) -> None:
    other = AssistantEntry(
        content=[ThinkingBlock(thinking="mine", signature="foreign"), TextBlock(text="said")],
        provider="elsewhere",
        model="other",
    )
    wire.ask("a", other, "b")
    assert "foreign" not in str(wire.sent)
    assert "mine" not in str(wire.sent)
    assert wire.server.requests[-1].problems == []


def test_an_answer_cut_at_its_limit_is_marked(wire: Wire, api: Api) -> None:
    wire.server.script.append(Reply("as long as", stop=LENGTH_STOP[api]))
    assert wire.answer().stop_reason == "length"


def test_a_declined_answer_says_so_and_its_calls_are_not_made(wire: Wire, api: Api) -> None:
    wire.server.script.append(DECLINED_REPLY[api])
    events = wire.ask()
    assert text_of(events) == "Well, [The model declined to answer.]"
    assert answer_of(events).refused
    assert calls_of(events) == []


def test_a_model_that_does_not_reason_is_sent_no_level(server: WireServer, api: Api) -> None:
    wire = Wire(server, api, reasoning=False)
    wire.ask(thinking="high")
    assert {"thinking", "output_config", "reasoning_effort", "reasoning", "include"}.isdisjoint(wire.sent)


# --- Tool calls


def test_a_tool_call_is_answered_in_the_next_request(wire: Wire, api: Api) -> None:
    wire.server.script.append(Reply("Looking.", calls=[Called("read", {"path": "a.txt"}), Called("read", {}, "t_2")]))
    first = wire.ask("look")
    calls = calls_of(first)
    assert [(call.name, call.arguments) for call in calls] == [("read", {"path": "a.txt"}), ("read", {})]
    assert len({call.id for call in calls}) == 2
    said = wire.entry(answer_of(first))
    wire.ask("look", said, result(calls[0], "content"), result(calls[1], "no file", is_error=True), "also this")
    assert message_kinds(wire) == KINDS_AFTER_RESULTS[api]
    assert wire.server.requests[-1].problems == []


@pytest.mark.parametrize("arguments", ['{"path": "a', "[1]", '"text"', '{"n": NaN}'])
def test_arguments_that_are_not_a_json_object_are_reported_to_the_model(wire: Wire, arguments: str) -> None:
    wire.server.script.append(Reply(calls=[Called("read", arguments)]))
    call = calls_of(wire.ask())[0]
    assert call.arguments == {RAW_ARGUMENTS: arguments}
    with pytest.raises(ToolInputInvalid, match="the arguments for read were not a JSON object"):
        Read().parse(call.arguments)


def test_a_call_without_arguments_has_none(wire: Wire) -> None:
    wire.server.script.append(Reply(calls=[Called("read", "")]))
    assert calls_of(wire.ask())[0].arguments == {}


def test_ids_of_other_providers_are_made_to_fit(wire: Wire) -> None:
    call = ToolCallBlock(id="call|x", name="read")
    wire.ask("a", AssistantEntry(content=[call]), result(call, "b"))
    assert wire.server.requests[-1].problems == []
    assert str(wire.sent).count("'call_x'") == 2, "the call and its result have the same id"


# --- Cancelling


def test_a_stopped_turn_sends_nothing(wire: Wire) -> None:
    cancel = Cancel()
    cancel.set(TurnAborted("stopped"))
    with pytest.raises(TurnAborted):
        wire.ask(cancel=cancel)
    assert wire.server.requests == []


def test_a_stop_in_the_middle_of_an_answer_ends_the_stream(wire: Wire) -> None:
    wire.server.script.append(Reply("a long enough answer", gap_seconds=0.05))
    cancel = Cancel()
    events = wire.provider.stream(wire.request("hello"), cancel)
    next(event for event in events if isinstance(event, TextDelta))
    cancel.set(TurnAborted("stopped"))
    with pytest.raises(TurnAborted):
        list(events)


def test_a_reader_that_goes_away_closes_the_connection(wire: Wire) -> None:
    wire.server.script.append(Reply("a long enough answer", gap_seconds=0.05))
    events = wire.provider.stream(wire.request("hello"), Cancel())
    next(event for event in events if isinstance(event, TextDelta))
    events.close()  # type: ignore[attr-defined]
    wire.server.script.append(Reply("fine"))
    assert wire.answer().content


# --- Errors by status and text

BY_STATUS = {
    400: Why.FORMAT,
    401: Why.AUTH,
    402: Why.BILLING,
    403: Why.AUTH,
    404: Why.MODEL_NOT_FOUND,
    408: Why.TIMEOUT,
    409: Why.UNKNOWN,
    410: Why.UNKNOWN,
    413: Why.CONTEXT_OVERFLOW,
    422: Why.FORMAT,
    429: Why.RATE_LIMIT,
    499: Why.TIMEOUT,
    500: Why.UNKNOWN,
    502: Why.TIMEOUT,
    503: Why.TIMEOUT,
    504: Why.TIMEOUT,
    **dict.fromkeys(range(520, 525), Why.TIMEOUT),
    529: Why.RATE_LIMIT,
}


def test_every_status_has_its_reason(server: WireServer, api: Api) -> None:
    wire = Wire(server, api, reasoning=False)
    for status, reason in BY_STATUS.items():
        server.script.append(Failure(status, "no luck", type="some_error", code="some_code"))
        failed = failure(wire.ask)
        assert (failed.reason, failed.status) == (reason, status)
        assert (failed.code, failed.request_id) == ("some_code", "req_wire")
    assert len(server.requests) == len(BY_STATUS), "we retry, not the SDK"


def test_the_error_text_decides_the_reason_too(server: WireServer, api: Api) -> None:
    wire = Wire(server, api, reasoning=False)
    for status, text, reason in BY_TEXT:
        if status is None or status == 418:
            continue
        server.script.append(Failure(status, text, headers={"retry-after": "17"}))
        failed = failure(wire.ask)
        assert failed.reason is reason, text
        assert failed.retry_after == 17


def test_a_missing_model_comes_with_a_hint_how_to_name_another(wire: Wire) -> None:
    """As with the address of a local server and nothing else."""
    wire.server.script.append(Failure(404, 'model "gpt-4o" not found, try pulling it first'))
    hint = "name one that is served there, by /model wired/... or in agents.defaults.model"
    assert failure(wire.ask).hint == hint


@pytest.mark.parametrize("body", ["<html>Bad gateway</html>", "", '{"detail": "no"}', '{"error": "no"}', "[]", "null"])
def test_an_error_body_of_any_shape_is_accepted(wire: Wire, body: str) -> None:
    wire.server.script.append(Failure(502, body=body))
    assert failure(wire.ask).reason is Why.TIMEOUT


def test_a_key_that_the_server_quotes_is_masked(wire: Wire) -> None:
    wire.server.script.append(Failure(401, f"Incorrect API key provided: {KEY}."))
    failed = failure(wire.ask)
    assert failed.message.endswith("Incorrect API key provided: ***.")
    assert failed.__cause__ is None
    assert failed.__suppress_context__, "the SDK's own error is not printed with it"
    assert KEY not in repr(wire.endpoint)


def test_a_header_that_the_server_quotes_is_masked(server: WireServer, api: Api) -> None:
    wire = Wire(server, api, headers={"x-gateway": "gw-secret-123"})
    ids = {"request-id": "gw-secret-123", "x-request-id": "gw-secret-123"}
    server.script.append(Failure(403, "no gateway gw-secret-123", code="bad_gw-secret-123", headers=ids))
    failed = failure(wire.ask)
    assert server.requests[0].headers["x-gateway"] == "gw-secret-123"
    assert (failed.message, failed.code) == ("wired: no gateway ***", "bad_***")
    assert "gw-secret-123" not in str(vars(failed))


def test_a_secret_that_is_quoted_in_mid_stream_is_masked(server: WireServer, api: Api) -> None:
    wire = Wire(server, api, headers={"x-gateway": "gw-secret-123"})
    error = {"type": "gw-secret-123", "code": "gw-secret-123", "message": f"gw-secret-123 and {KEY} are bad"}
    server.script.append(Reply("some", after=2, then="error", error=error))
    failed = failure(wire.ask)
    assert failed.message == "wired: *** and *** are bad"
    assert "gw-secret-123" not in str(vars(failed))


@pytest.mark.parametrize(("code", "reason"), [(402, Why.BILLING), (429, Why.RATE_LIMIT), (502, Why.TIMEOUT)])
def test_a_status_that_a_gateway_passes_on_in_mid_stream_counts(wire: Wire, code: int, reason: Why) -> None:
    error = {"type": "error", "code": code, "message": "Provider returned error"}
    wire.server.script.append(Reply("some", after=2, then="error", error=error))
    failed = failure(wire.ask)
    assert (failed.reason, failed.status, failed.code) == (reason, code, str(code))


def test_a_refused_connection_is_a_timeout(api: Api) -> None:
    with WireServer() as gone:
        wire = Wire(gone, api)
    port = urlsplit(gone.url).port
    with_password = replace(wire.endpoint, base_url=gone.url.replace("//", "//me:secret@"))
    for endpoint in (wire.endpoint, with_password):
        with pytest.raises(ProviderError, match=f"wired: no connection to 127.0.0.1:{port}: ") as failed:
            wire.ask(endpoint=endpoint)
        assert failed.value.reason is Why.TIMEOUT


# --- Broken streams; events that are not in the form of their API are in test_malformed_streams.py


@pytest.mark.parametrize("events", [1, 3, 5])
def test_a_stream_that_ends_early_as_if_complete_is_cut(wire: Wire, events: int) -> None:
    wire.server.script.append(Reply("a long enough answer", after=events, then="end"))
    assert failure(wire.ask).reason is Why.CUT


def test_a_connection_that_breaks_in_mid_answer_is_cut(wire: Wire) -> None:
    wire.server.script.append(Reply("a long enough answer", after=4, then="reset"))
    assert failure(wire.ask).reason is Why.CUT


def test_an_error_in_mid_stream_has_its_own_reason(wire: Wire) -> None:
    error = {"type": "overloaded_error", "code": "overloaded", "message": "Overloaded"}
    wire.server.script.append(Reply("a long enough answer", after=4, then="error", error=error))
    failed = failure(wire.ask)
    assert failed.reason is Why.RATE_LIMIT
    assert failed.status is None
    assert failed.code in {"overloaded", "overloaded_error"}


def test_silence_in_mid_stream_is_a_timeout(wire: Wire) -> None:
    wire.server.script.append(Reply("a long enough answer", after=4, then="hang"))
    impatient = replace(wire.endpoint, idle_seconds=0.3)
    assert failure(lambda: wire.ask(endpoint=impatient)).reason is Why.TIMEOUT


def test_a_slow_stream_is_not_a_timeout(wire: Wire) -> None:
    wire.server.script.append(Reply("abcdefgh", gap_seconds=0.1))
    impatient = replace(wire.endpoint, idle_seconds=0.5)
    deltas = [event.text for event in wire.ask(endpoint=impatient) if isinstance(event, TextDelta)]
    assert "".join(deltas) == "abcdefgh"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_answer_is_a_failure_that_is_retried(wire: Wire, text: str) -> None:
    wire.server.script.append(Reply(text))
    failed = failure(wire.ask)
    assert (failed.reason, failed.code) == (Why.CUT, "empty_answer")


def test_thinking_alone_is_not_an_answer(wire: Wire) -> None:
    wire.server.script.append(Reply(thinking="on and on"))
    assert failure(wire.ask).code == "empty_answer"


def test_an_answer_used_up_by_thinking_says_so(wire: Wire, api: Api) -> None:
    wire.server.script.append(Reply(thinking="on and on", stop=LENGTH_STOP[api]))
    failed = failure(wire.ask)
    assert failed.code == "max_tokens"
    assert failed.hint


# --- Files; what happens to files that an API refuses is in test_refused_files.py

PDF = b"%PDF-1.7\n%%EOF\n"
PDF_URL = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"
PDF_PART: dict[Api, dict[str, Any]] = {
    "anthropic-messages": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(PDF).decode()},
        "title": "r.pdf",
    },
    "openai-completions": {"type": "file", "file": {"filename": "r.pdf", "file_data": PDF_URL}},
    "openai-responses": {"type": "input_file", "filename": "r.pdf", "file_data": PDF_URL},
}
IMAGE_PART: dict[Api, dict[str, Any]] = {
    "anthropic-messages": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
    },
    "openai-completions": {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
    "openai-responses": {"type": "input_image", "image_url": "data:image/png;base64,cG5n", "detail": "auto"},
}


@pytest.fixture
def attached(tmp_path: Path) -> list[Attachment]:
    (tmp_path / "p.png").write_bytes(b"png")
    (tmp_path / "r.pdf").write_bytes(PDF)
    types = {"p.png": "image/png", "r.pdf": "application/pdf", "gone.png": "image/png"}
    return [Attachment(name=name, mime_type=kind, path=str(tmp_path / name)) for name, kind in types.items()]


def test_images_and_pdfs_go_to_models_that_take_them(server: WireServer, api: Api, attached: list[Attachment]) -> None:
    text, image, pdf, gone = parts_sent(Wire(server, api, input=["text", "image", "file"]), attached)
    assert text["text"] == "see"
    assert (image, pdf) == (IMAGE_PART[api], PDF_PART[api])
    assert gone["text"].startswith("[attached file: gone.png (image/png) at ")


@pytest.mark.parametrize("takes", [["text"], ["text", "image"]])
def test_files_are_named_to_models_that_do_not_take_them(
    server: WireServer, api: Api, attached: list[Attachment], takes: list[str]
) -> None:
    parts = parts_sent(Wire(server, api, input=takes), attached)
    named = [each for each in attached if "image" not in takes or each.name != "p.png"]
    expected = [f"[attached file: {each.name} ({each.mime_type}) at {each.path}]" for each in named]
    assert [part["text"] for part in parts[1:] if "text" in part] == expected


def test_the_suite_covers_every_api() -> None:
    tables: list[dict[Api, Any]] = [LENGTH_STOP, DECLINED_REPLY, KINDS_AFTER_RESULTS, PDF_PART, IMAGE_PART]
    assert all(set(table) == set(APIS) for table in tables)
