"""Chunks, completions and failures in OpenAI's form, from what a followed turn reports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Self, cast

import pytest

from ingress.context import IngressContext
from ingress.openai import answers
from ingress.openai.answers import PendingAnswer
from ingress.openai.completions import CompletionForm
from openclaw_workers.client.protocol import Ended, Gap, Quiet, Update
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import NotFound

SESSION = SessionKey("agent:main:openai:1")
RUN = RunId("run-1")


class ScriptedReader:
    """Reports given updates; an exception among them is raised."""

    def __init__(self, updates: list[Update | Exception]) -> None:
        self._updates = updates

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""

    async def follow(self, _steps: object) -> AsyncIterator[Update]:
        for update in self._updates:
            if isinstance(update, Exception):
                raise update
            yield update


class ScriptedContext:
    def __init__(self, updates: list[Update | Exception]) -> None:
        self._updates = updates

    def follow(self) -> ScriptedReader:
        return ScriptedReader(self._updates)


def event(kind: str, text: str = "") -> Event:
    return Event("1-0", kind, 1, 1, {"run": RUN, "text": text})


def ended(state: RunState = RunState.OK, **more: Any) -> Ended:
    run = Run(id=RUN, session_key=SESSION, state=state, usage=Usage(input=10, output=3, cache_read=5), **more)
    return Ended(run, None)


def stream(*updates: Update | Exception, usage: bool = False) -> list[Any]:
    queued = Queued(MessageId("msg-1"), SESSION, RUN, "1-0", None)
    form = CompletionForm("chatcmpl-1", 1, "openclaw", usage)
    context = cast("IngressContext", ScriptedContext(list(updates)))
    answer = PendingAnswer(context, queued, form, is_stateless=False, with_tree=False)

    async def read() -> list[bytes]:
        return [chunk async for chunk in answer.chunks()]

    return [_parsed(chunk) for chunk in asyncio.run(read())]


def _parsed(chunk: bytes) -> Any:
    text = chunk.decode().removeprefix("data: ").removesuffix("\n\n")
    return json.loads(text) if text.startswith("{") else text


def deltas(chunks: list[Any]) -> list[dict[str, Any]]:
    return [each["choices"][0]["delta"] for each in chunks if isinstance(each, dict) and each.get("choices")]


def test_reasoning_is_streamed_beside_the_text() -> None:
    chunks = stream(event("run.started"), event("thinking.delta", "hm"), event("text.delta", "yes"), ended(text="yes"))

    assert deltas(chunks) == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": "yes"},
        {},
    ]
    assert chunks[-1] == "[DONE]"


def test_a_long_silence_is_filled_with_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "KEEP_ALIVE_SECONDS", 0.0)
    chunks = stream(Quiet(), Quiet(), ended(text="late"))
    assert chunks[1:3] == [": keep-alive", ": keep-alive"]


def test_a_short_silence_is_not() -> None:
    assert ": keep-alive" not in stream(Quiet(), Quiet(), ended(text="soon"))


def test_after_a_gap_the_end_completes_the_text() -> None:
    chunks = stream(event("text.delta", "a"), Gap(), event("text.delta", "c"), ended(text="abc"))
    assert [each.get("content") for each in deltas(chunks)] == ["", "a", "bc", None]


def test_the_usage_comes_last_and_counts_cached_tokens_as_input() -> None:
    chunks = stream(ended(text="x", reason="length"), usage=True)
    assert chunks[-3]["choices"][0]["finish_reason"] == "length"
    assert chunks[-2]["usage"] == {
        "prompt_tokens": 15,
        "completion_tokens": 3,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 5},
    }


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (ended(RunState.ERROR, error="no money", reason="billing"), "billing"),
        (ended(RunState.ERROR, error="lost", reason="error"), "run_failed"),
        (ended(RunState.KILLED, reason="killed"), "run_stopped"),
        (ended(RunState.TIMEOUT), "run_timeout"),
        (Ended(None, Receipt(state=MessageState.CANCELLED, reason="interrupt")), "message_cancelled"),
        (Ended(None, Receipt(state=MessageState.DROPPED)), "message_dropped"),
        (NotFound("the record is gone"), "not_found"),
    ],
)
def test_every_failure_ends_the_stream_with_an_error_that_has_a_code(last: Update | Exception, code: str) -> None:
    chunks = stream(event("text.delta", "half"), last)
    assert chunks[-1]["error"]["code"] == code
    assert set(chunks[-1]["error"]) == {"message", "type", "param", "code"}
