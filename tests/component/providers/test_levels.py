"""The parameters of every thinking level in each API."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from openclaw_workers.config.base import Thinking
from openclaw_workers.config.models import Api
from tests.component.providers.wire_conversation import Wire
from tests.support.wire import WireServer

LEVELS: tuple[str, ...] = get_args(Thinking)
FIELDS = ("thinking", "output_config", "reasoning_effort", "reasoning")

Sent = dict[str, Any]


def adaptive(effort: str) -> Sent:
    return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}


def budget(tokens: int) -> Sent:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def reasoning(effort: str) -> Sent:
    return {"reasoning": {"effort": effort, "summary": "auto"}}


DISABLED: Sent = {"thinking": {"type": "disabled"}}
EFFORTS = LEVELS[1:]
TABLE: list[tuple[Api, str, list[Sent]]] = [
    (
        "anthropic-messages",
        "claude-opus-4-6",
        [DISABLED, *map(adaptive, ("low", "low", "medium", "high", "xhigh"))],
    ),
    # The last one is half of the output limit.
    ("anthropic-messages", "claude-opus-4-5", [DISABLED, *map(budget, (1024, 2048, 8192, 16_384, 20_000))]),
    ("openai-completions", "m", [{"reasoning_effort": effort} for effort in ("none", *EFFORTS)]),
    ("openai-responses", "m", [{"reasoning": {"effort": "none"}}, *map(reasoning, EFFORTS)]),
]


@pytest.mark.parametrize(("api", "model", "sent"), TABLE)
def test_each_level_has_its_parameters(server: WireServer, api: Api, model: str, sent: list[Sent]) -> None:
    assert LEVELS == ("off", "minimal", "low", "medium", "high", "xhigh")
    wire = Wire(server, api, model=model)
    for level, expected in zip(LEVELS, sent, strict=True):
        wire.ask(thinking=level)
        assert {name: wire.sent[name] for name in FIELDS if name in wire.sent} == expected, level
        assert server.requests[-1].problems == []
    assert len(server.requests) == len(LEVELS), "each level needed one request"
