"""Fleets whose models are served by the wire-level server, and the requests it got."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.store.llm.ledger import Ledger
from tests.support.fleet import Fleet
from tests.support.wire import Recorded, WireServer
from tests.support.wire.words import newest_text

MOST_OUTPUT = 500
"""The most tokens of one answer."""


def config(server: WireServer, *, api: str = "openai-completions", **a: Any) -> dict[str, Any]:
    """Providers `a` and `b`, each with one key and one model; the second is the fallback."""
    url = server.url if api == "anthropic-messages" else server.openai_url
    models = [{"id": "m", "maxTokens": MOST_OUTPUT}]
    providers = {
        name: {"baseUrl": url, "api": api, "authProfiles": [{"id": f"{name}1", "apiKey": f"{name}1"}], "models": models}
        for name in ("a", "b")
    }
    providers["a"] |= a
    model = {"primary": "a/m", "fallbacks": ["b/m"]}
    # Longer than in other tests: loading an SDK takes time, and a lost lease would cause an extra call.
    return {
        "models": {"providers": providers},
        "agents": {"defaults": {"model": model}},
        "engine": {"leaseSeconds": 4.0},
    }


def key_of(request: Recorded) -> str:
    return request.headers.get("x-api-key") or request.headers["authorization"].removeprefix("Bearer ")


def asked(server: WireServer) -> list[str]:
    return [key_of(request) for request in server.requests]


def ledger(fleet: Fleet) -> list[ModelCall]:
    calls = Ledger(fleet.stores.redis, fleet.stores.keys).calls()
    return sorted(calls, key=lambda call: (call.at, call.id))


def said(request: Recorded) -> str:
    """The last user text in a request."""
    return newest_text(request)
