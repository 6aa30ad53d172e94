"""OpenAI's SDK, set up for one endpoint, and what both of its APIs share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx2
import openai
from openai._models import SecurityOptions

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import ToolCallBlock, Usage
from openclaw_workers.interruptible_http import interruptible_by
from openclaw_workers.providers.answers import parse_arguments
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.call import Call, Clients
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.http.client import http_client
from openclaw_workers.providers.http.failures import to_provider_error
from openclaw_workers.providers.http.stream import EventReader, read_events
from openclaw_workers.providers.thinking import at_or_below
from openclaw_workers.providers.warm_up import NOWHERE, canned_client

_OWN_URL: Final = "https://api.openai.com/v1"
# Servers without keys are common, but the SDK insists on one.
_NO_KEY: Final = "none"
_EFFORTS: Final = {"off": "none"}
_ID_CHARS: Final = 40
BY_KEY: Final[SecurityOptions] = {"bearer_auth": True}
"""How the SDK authenticates these calls; without it, it would look for an administrator's key too."""


def read(
    call: Call, open_stream: Callable[[openai.OpenAI], Any], reader: EventReader, cancel: Cancel
) -> Iterator[StreamEvent]:
    """Carry out one call and read its events to the end."""
    try:
        with interruptible_by(cancel):
            events = open_stream(CLIENTS.of(call.endpoint))
        yield from read_events(events, reader, call.endpoint, cancel)
    except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
        raise to_provider_error(error, call, begun=reader.begun) from None


def efforts(call: Call) -> list[str]:
    """Reasoning efforts to ask for, best first. Where no lower one is left, not even `none`, the least there is."""
    if not call.model.reasoning:
        return []
    return [*(_EFFORTS.get(level, level) for level in at_or_below(call.request.thinking)), "minimal", "low"]


def counted(whole_input: int, output: int, details: Any) -> Usage:
    """OpenAI counts what came from the cache, and what went there, as input too."""
    read_tokens = getattr(details, "cached_tokens", None) or 0
    written = getattr(details, "cache_write_tokens", None) or 0
    # Prices differ for the three kinds, so each token may count only once.
    fresh = max(0, whole_input - read_tokens - written)
    return Usage(input=fresh, output=output, cache_read=read_tokens, cache_write=written)


def call_block(call_id: str, name: str, arguments: str) -> ToolCallBlock:
    return ToolCallBlock(id=call_id, name=name, arguments=parse_arguments(arguments))


def plain_id(call_id: str) -> str:
    """Ids of other servers may hold characters that are not allowed here, or be longer than Chat Completions takes."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
    if len(plain) <= _ID_CHARS:
        return plain
    # The hash keeps two long ids with the same beginning apart; a call and its result get the same short id.
    return f"{plain[: _ID_CHARS - 9]}_{hashlib.sha256(call_id.encode(errors='replace')).hexdigest()[:8]}"


def post(client: openai.OpenAI, path: str, body: bytes, headers: dict[str, str]) -> openai.Stream[object]:
    """Open a stream. The SDK sends the body as it is, and hands out events as they came."""
    return client.post(
        path,
        cast_to=object,
        content=body,
        options={"headers": headers, "security": BY_KEY},
        stream=True,
        stream_cls=openai.Stream[object],
    )


def warm_up_client(path: str) -> None:
    """Load all that a call needs."""
    client = openai.OpenAI(api_key=_NO_KEY, base_url=NOWHERE, max_retries=0, http_client=canned_client())
    with post(client, path, b"{}", {}) as events:
        list(events)


def _client(endpoint: Endpoint) -> openai.OpenAI:
    return openai.OpenAI(
        api_key=endpoint.api_key.get_secret_value() if endpoint.api_key else _NO_KEY,
        base_url=endpoint.base_url or _OWN_URL,
        # The engine retries. A retry inside the SDK would be billed but not in the ledger, and would ignore cooldowns.
        max_retries=0,
        default_headers=endpoint.plain_headers(),
        http_client=http_client(endpoint.idle_seconds),
    )


CLIENTS: Final = Clients(_client)
