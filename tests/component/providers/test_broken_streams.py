"""What can go wrong after the first byte, with each protocol: every end is recognised and none is silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import Api
from openclaw_workers.domain.tool_spec import RAW_ARGUMENTS
from openclaw_workers.errors import FailureReason, ProviderError, ToolInputInvalid
from openclaw_workers.providers.base import TextDelta
from openclaw_workers.tools.files.read import Read
from tests.component.providers.wire_conversation import APIS, Wire
from tests.support.wire import Called, Raw, Reply, WireServer
from tests.unit.providers.offline_conversation import calls_of


@pytest.fixture(params=APIS)
def line(request: pytest.FixtureRequest, server: WireServer) -> Wire:
    api: Api = request.param
    return Wire(server, api)


def failure(call: Callable[[], Any]) -> ProviderError:
    with pytest.raises(ProviderError) as failed:
        call()
    return failed.value


@pytest.mark.parametrize("events", [1, 3, 5])
def test_a_stream_that_ends_early_as_if_complete_is_cut(line: Wire, events: int) -> None:
    line.server.script.append(Reply("a long enough answer", after=events, then="end"))
    assert failure(line.ask).reason is FailureReason.CUT


def test_a_connection_that_breaks_in_mid_answer_is_cut(line: Wire) -> None:
    line.server.script.append(Reply("a long enough answer", after=4, then="reset"))
    assert failure(line.ask).reason is FailureReason.CUT


def test_an_error_in_mid_stream_has_its_own_reason(line: Wire) -> None:
    error = {"type": "overloaded_error", "code": "overloaded", "message": "Overloaded"}
    line.server.script.append(Reply("a long enough answer", after=4, then="error", error=error))
    failed = failure(line.ask)
    assert failed.reason is FailureReason.RATE_LIMIT
    assert failed.status is None
    assert failed.code in {"overloaded", "overloaded_error"}


def test_silence_in_mid_stream_is_a_timeout(line: Wire) -> None:
    line.server.script.append(Reply("a long enough answer", after=4, then="hang"))
    impatient = replace(line.endpoint, idle_seconds=0.3)
    assert failure(lambda: line.ask(endpoint=impatient)).reason is FailureReason.TIMEOUT


def test_a_slow_drip_is_no_timeout(line: Wire) -> None:
    line.server.script.append(Reply("abcdefgh", gap_seconds=0.1))
    impatient = replace(line.endpoint, idle_seconds=0.5)
    deltas = [event.text for event in line.ask(endpoint=impatient) if isinstance(event, TextDelta)]
    assert "".join(deltas) == "abcdefgh"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_answer_is_a_failure_that_is_tried_again(line: Wire, text: str) -> None:
    line.server.script.append(Reply(text))
    failed = failure(line.ask)
    assert (failed.reason, failed.code) == (FailureReason.CUT, "empty_answer")


def test_thinking_alone_is_no_answer(line: Wire) -> None:
    line.server.script.append(Reply(thinking="on and on"))
    assert failure(line.ask).code == "empty_answer"


def test_an_answer_used_up_by_thinking_says_so(server: WireServer) -> None:
    for api, stop in zip(APIS, ("max_tokens", "length", "max_output_tokens"), strict=True):
        server.script.append(Reply(thinking="on and on", stop=stop))
        failed = failure(Wire(server, api).ask)
        assert failed.code == "max_tokens"
        assert failed.hint


@pytest.mark.parametrize("arguments", ['{"path": "a', "[1]", '"text"', '{"n": NaN}'])
def test_arguments_that_are_no_json_object_are_told_to_the_model(line: Wire, arguments: str) -> None:
    line.server.script.append(Reply(calls=[Called("read", arguments)]))
    call = calls_of(line.ask())[0]
    assert call.arguments == {RAW_ARGUMENTS: arguments}
    with pytest.raises(ToolInputInvalid, match="the arguments for read were not a JSON object"):
        Read().parse(call.arguments)


def test_a_call_without_arguments_has_none(line: Wire) -> None:
    line.server.script.append(Reply(calls=[Called("read", "")]))
    assert calls_of(line.ask())[0].arguments == {}


def test_a_reader_that_goes_away_closes_the_connection(line: Wire) -> None:
    line.server.script.append(Reply("a long enough answer", gap_seconds=0.05))
    events = line.provider.stream(line.request("hello"), Cancel())
    next(event for event in events if isinstance(event, TextDelta))
    events.close()  # type: ignore[attr-defined]
    line.server.script.append(Reply("fine"))
    assert line.answer().content


def test_an_answer_without_a_count_says_that_its_usage_is_a_guess(server: WireServer) -> None:
    silent: dict[Api, list[tuple[str | None, Any]]] = {
        "openai-completions": [
            (None, {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}),
        ],
        "openai-responses": [
            ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}),
            ("response.completed", {"type": "response.completed", "response": {"incomplete_details": None}}),
        ],
        "anthropic-messages": [
            ("message_start", {"type": "message_start", "message": {"id": "m", "content": []}}),
            ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": PART}),
            ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            ("message_stop", {"type": "message_stop"}),
        ],
    }
    for api, events in silent.items():
        server.script += [Raw(events), Reply("ok")]
        line = Wire(server, api)
        assert [line.answer().estimated for _ in range(2)] == [True, False], api


PART = {"type": "text", "text": "ok"}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "ok"}]}
