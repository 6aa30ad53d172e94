"""A house whose models are behind the wire-level server: providers `a` (two keys, two models) and `b` (one of each)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from openclaw_workers.config.models import Api, ProviderSettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.runs import Run
from openclaw_workers.errors import FailureReason
from openclaw_workers.providers.remote import endpoint
from openclaw_workers.store.llm.cooldowns import Cooldowns
from openclaw_workers.store.llm.ledger import Ledger
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.support.wire import Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour

CHAIN = {"primary": "a/m", "fallbacks": ["a/n", "b/m"]}


@dataclass
class Script:
    """What the server does by key and model, as in `a1:m`; without a plan it answers with that name."""

    plans: defaultdict[str, deque[Behaviour]] = field(default_factory=lambda: defaultdict(deque))
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: Recorded) -> Behaviour:
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        name = f"{key}:{request.body['model']}"
        self.asked.append(name)
        plan = self.plans[name]
        return plan.popleft() if plan else Reply(name)


@dataclass
class WireHarness:
    engine: EngineHarness
    script: Script

    @property
    def health(self) -> Cooldowns:
        return Cooldowns(self.engine.stores.redis, self.engine.stores.keys)

    def turn(self, text: str = "hello", session: str = SESSION) -> Run:
        """Say something and carry the turn to its end."""
        queued = self.engine.say(text, SessionKey(session))
        self.engine.work()
        return self.engine.run_of(queued)

    def plan(self, name: str, *behaviours: Behaviour) -> None:
        self.script.plans[name].extend(behaviours)

    def asked(self) -> list[str]:
        """Whom the server was asked for since the last time."""
        asked, self.script.asked = self.script.asked, []
        return asked

    def cool(self, *names: str, reason: FailureReason = FailureReason.RATE_LIMIT) -> None:
        """As if another worker had failed with these keys."""
        for name in names:
            self.health.failed(self.known_as(name), f"call-{name}", reason)

    def known_as(self, name: str) -> str:
        """Under which name the fleet notes how `a/a1` works, or `a/a1/m`; each key here is its profile's name."""
        provider, profile, *model = name.split("/")
        given = self.engine.loaded.settings.models.providers.get(provider, ProviderSettings())
        return "/".join([endpoint(provider, given, profile, SecretStr(profile)).known_as, *model])

    def pause_ms(self, name: str) -> int:
        states, now = self.health.states([known := self.known_as(name)])
        return max(0, states[known].until - now)

    def ledger(self) -> list[ModelCall]:
        """All calls, in the order they were made."""
        calls = Ledger(self.engine.stores.redis, self.engine.stores.keys).calls()
        return sorted(calls, key=lambda call: (call.at, call.id))


def provider(server: WireServer, api: Api, *keys: str, models: tuple[str, ...] = ("m",), **more: Any) -> dict[str, Any]:
    return {
        "baseUrl": server.url if api == "anthropic-messages" else server.openai_url,
        "api": api,
        "authProfiles": [{"id": key, "apiKey": key} for key in keys],
        "models": [{"id": model, "maxTokens": 4096, "cost": {"input": 1.0, "output": 2.0}} for model in models],
        **more,
    }


def wire_engine(
    make_engine: MakeEngine,
    server: WireServer,
    *,
    api: Api = "openai-completions",
    model: Mapping[str, Any] | str | None = None,
    a: Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    agents: Mapping[str, Any] | None = None,
    **config: Any,
) -> WireHarness:
    script = Script()
    server.answer = script
    providers = {
        "a": {**provider(server, api, "a1", "a2", models=("m", "n")), **(a or {})},
        "b": provider(server, api, "b1"),
    }
    tree = {
        "models": {"providers": providers, **(models or {})},
        "agents": {"defaults": {"model": model or CHAIN, **(defaults or {})}, **(agents or {})},
        **config,
    }
    return WireHarness(make_engine(tree), script)
