"""Turns in this process with a model that is reached over the wire."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.agent.prompt.texts import MEMORY_FLUSH, SUMMARISE
from openclaw_workers.domain.runs import Run
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.support.wire import Recorded, WireServer

APIS = ("anthropic-messages", "openai-completions", "openai-responses")


def engine_with(
    make: MakeEngine, server: WireServer, api: str = APIS[0], *, window: int = 30_000, sees: bool = False, **agent: Any
) -> EngineHarness:
    """The default agent asks model `m` of the server, which may see images and PDFs; settings of the agent as given."""
    url = server.url if api == APIS[0] else server.openai_url
    model = {"id": "m", "contextWindow": window, "maxTokens": 1000, "input": ["text", *["image", "file"] * sees]}
    provider = {"baseUrl": url, "api": api, "apiKey": "k", "models": [model]}
    return make({"models": {"providers": {"wire": provider}}, "agents": {"defaults": {"model": "wire/m", **agent}}})


def ask(engine: EngineHarness, text: str, **more: Any) -> Run:
    """Say it, carry all that comes of it, and return the run that answered."""
    queued = engine.say(text, **more)
    engine.work()
    return engine.run_of(queued)


def said(request: Recorded) -> str:
    """All of a request as plain text."""
    return json.dumps(request.body, ensure_ascii=False)


def is_summary(request: Recorded) -> bool:
    return SUMMARISE[:40] in said(request)


def is_flush(request: Recorded) -> bool:
    return MEMORY_FLUSH[:40] in said(request)


def valid(server: WireServer) -> bool:
    assert [request.problems for request in server.requests if request.problems] == []
    return True


def system(request: Recorded) -> tuple[str, str]:
    """The system prompt that Anthropic is sent: what is cached, and what follows it."""
    blocks = request.body["system"]
    return blocks[0]["text"], "".join(block["text"] for block in blocks[1:])
