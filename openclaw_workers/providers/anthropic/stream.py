"""Calls of the Messages API through Anthropic's SDK."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

import anthropic
import httpx2

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.builtin_models import thinks_adaptively
from openclaw_workers.domain.transcript import AssistantEntry, ThinkingBlock, ToolResultEntry, UserEntry
from openclaw_workers.interruptible_http import interruptible_by
from openclaw_workers.providers.anthropic.events import Reader
from openclaw_workers.providers.anthropic.messages import is_own, request_body
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.call import REFUSALS, Call, Clients
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.http.client import http_client
from openclaw_workers.providers.http.failures import to_provider_error
from openclaw_workers.providers.http.stream import read_events
from openclaw_workers.providers.thinking import Parameters, at_or_below
from openclaw_workers.providers.warm_up import NOWHERE, canned_client

_OWN_URL: Final = "https://api.anthropic.com"
_NO_KEY: Final = "none"
# Tokens. 1024 is the least that the API accepts.
_BUDGETS: Final = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 32_768}
_EFFORTS: Final = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}


def stream(call: Call, cancel: Cancel) -> Iterator[StreamEvent]:
    return REFUSALS.stream(call.model.ref, thinking_steps(call), lambda step: _once(call, step, cancel), _shown)


def warm_up() -> None:
    """Load all that a call needs."""
    client = anthropic.Anthropic(
        api_key=_NO_KEY, base_url=NOWHERE, max_retries=0, open_telemetry=False, http_client=canned_client()
    )
    with _open(client, b"{}", {}) as events:
        list(events)


def thinking_steps(call: Call) -> list[Parameters]:
    """What to ask for, best first."""
    if not call.model.reasoning:
        return []
    adaptive = thinks_adaptively(call.request.model)
    wanted = "off" if not adaptive and _must_not_begin(call) else call.request.thinking
    return [_step(level, call, adaptive=adaptive) for level in at_or_below(wanted)]


def _step(level: str, call: Call, *, adaptive: bool) -> Parameters:
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    if adaptive:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": _EFFORTS[level]}}
    # The budget is part of max_tokens, and the answer needs its share.
    budget = max(1024, min(_BUDGETS[level], call.output_limit() // 2))
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _shown(step: Parameters) -> Parameters:
    """Newer models keep their thoughts to themselves unless they are asked for them."""
    thinking = step.get("thinking", {})
    return {**step, "thinking": {**thinking, "display": "summarized"}} if thinking.get("type") == "adaptive" else step


def _must_not_begin(call: Call) -> bool:
    """Whether thinking was off when the calls began whose results are sent now; it cannot begin in between.

    The first of several calls in a row tells: a model with a budget thinks before that one, and may not again.
    """
    messages = call.request.messages
    if not messages or not isinstance(messages[-1], ToolResultEntry):
        return False
    row = takewhile(lambda entry: not isinstance(entry, UserEntry), reversed(messages))
    asked = [entry for entry in row if isinstance(entry, AssistantEntry)]
    if not asked:
        return False
    first = asked[-1]
    return not (is_own(first, call) and any(isinstance(b, ThinkingBlock) and b.signature for b in first.content))


def _once(call: Call, step: Parameters, cancel: Cancel) -> Iterator[StreamEvent]:
    reader = Reader(call.estimated_input())
    client = CLIENTS.of(call.endpoint)
    try:
        # Only the opening: `read_events` makes each later read interruptible itself.
        with interruptible_by(cancel):
            events = _open(client, request_body(call, step), call.headers())
        yield from read_events(events, reader, call.endpoint, cancel)
    except (anthropic.AnthropicError, httpx2.HTTPError, ValueError) as error:
        raise to_provider_error(error, call, begun=reader.begun) from None


def _open(client: anthropic.Anthropic, body: bytes, headers: dict[str, str]) -> anthropic.Stream[object]:
    """The SDK sends the body as it is, and hands out events as they came."""
    return client.post(
        "/v1/messages",
        cast_to=object,
        content=body,
        options={"headers": headers},
        stream=True,
        stream_cls=anthropic.Stream[object],
    )


def _client(endpoint: Endpoint) -> anthropic.Anthropic:
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else _NO_KEY
    # Anthropic takes the key as a bearer; the servers that imitate it look for the older header.
    older = {"x-api-key": key} if endpoint.base_url and endpoint.api_key else {}
    return anthropic.Anthropic(
        api_key=key,
        base_url=endpoint.base_url or _OWN_URL,
        # The engine retries. A retry inside the SDK would be billed but not in the ledger, and would ignore cooldowns.
        max_retries=0,
        default_headers={**older, **endpoint.plain_headers()},
        open_telemetry=False,
        http_client=http_client(endpoint.idle_seconds),
    )


CLIENTS: Final = Clients(_client)
