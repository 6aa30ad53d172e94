"""Events that do not match the schema of their API: each is a failure that leads to a retry or another model."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.errors import FailureReason, ProviderError
from tests.component.providers.wire_conversation import Wire
from tests.support.wire import Raw, WireServer

Event = tuple[str | None, Any]


def chat(delta: Any, **more: Any) -> Event:
    return None, {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}], **more}


def call(**function: Any) -> Event:
    return chat({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]})


def typed(kind: str, **fields: Any) -> Event:
    return kind, {"type": kind, **fields}


def messages(*events: Event) -> list[Event]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    stop = typed("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2})
    return [typed("message_start", message=message), *events, stop, typed("message_stop")]


def block(kind: str, **fields: Any) -> Event:
    return typed("content_block_start", index=0, content_block={"type": kind, **fields})


def delta(kind: str, **fields: Any) -> Event:
    return typed("content_block_delta", index=0, delta={"type": kind, **fields})


CHAT: list[Event] = [
    chat({"content": ["a", "list"]}),
    chat({"content": 7}),
    chat("text"),
    call(name="read", arguments={"path": "x"}),
    call(name=7, arguments="{}"),
    chat({"tool_calls": "read"}),
    chat({}, usage="many"),
    chat({}, usage={"prompt_tokens": "many", "completion_tokens": 1}),
    (None, []),
    (None, "7"),
    (None, {"choices": 7}),
    (None, {"choices": ["text"]}),
]
END: Event = (None, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
MESSAGES: list[list[Event]] = [
    [delta("input_json_delta", partial_json="{}")],
    [block("text", text=""), delta("text_delta", text=["a"])],
    [block("text", text=""), delta("text_delta")],
    [block("tool_use", name="read", input={}), delta("input_json_delta", partial_json="{}")],
    [block("tool_use", id="t", name="read", input={}), delta("input_json_delta", partial_json={"path": "x"})],
    [block("tool_use", id="t", name="read", input=["x"])],
    [typed("content_block_start", index=0, content_block="text")],
    [typed("content_block_start")],
    [("message_delta", [])],
]
RESPONSES: list[Event] = [
    typed("response.output_text.delta", delta=["a"]),
    typed("response.output_text.delta"),
    typed("response.output_item.done", output_index=0, item={"type": "message", "content": "text"}),
    typed("response.output_item.done", output_index=0, item={"type": "function_call", "name": "read"}),
    typed("response.output_item.done", output_index=0, item="text"),
    typed("response.completed"),
    typed("response.completed", response={"usage": {"input_tokens": "many"}}),
    ("response.created", []),
]
CASES: list[tuple[Api, list[Event]]] = [
    *(("openai-completions", [chat({"content": "well"}), each, END]) for each in CHAT),
    *(("anthropic-messages", messages(*each)) for each in MESSAGES),
    *(("openai-responses", [typed("response.created", response={}), each]) for each in RESPONSES),
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer")
@pytest.mark.parametrize(("api", "events"), CASES)
def test_a_malformed_event_is_a_failed_call(server: WireServer, api: Api, events: list[Event]) -> None:
    server.script.append(Raw(events))
    with pytest.raises(ProviderError) as failed:
        Wire(server, api).ask()
    assert failed.value.reason is FailureReason.CUT
    assert failed.value.code == "malformed_answer"
