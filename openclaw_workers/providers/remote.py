"""A provider with an HTTP API. The model decides which of the three APIs is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Final, Protocol, cast

from pydantic import SecretStr

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.budgets import LimitSettings
from openclaw_workers.config.model_catalog import Catalog, ModelInfo
from openclaw_workers.config.models import Api, ProviderSettings
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import ModelRequest, Provider, StreamEvent
from openclaw_workers.providers.call import Call
from openclaw_workers.providers.endpoint import Endpoint, idle_seconds_for
from openclaw_workers.providers.http.refused_files import withhold_refused_files


class WireProtocol(Protocol):
    """What the module of each protocol offers."""

    def stream(self, call: Call, cancel: Cancel) -> Iterator[StreamEvent]: ...

    def warm_up(self) -> None: ...


# Named, not imported: an SDK takes a second to load, and many processes need none or only one.
_PROTOCOLS: Final[dict[Api, str]] = {
    "anthropic-messages": "openclaw_workers.providers.anthropic.stream",
    "openai-completions": "openclaw_workers.providers.openai.chat",
    "openai-responses": "openclaw_workers.providers.openai.responses",
}
_KEYS: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


@cache
def _protocol(api: Api) -> WireProtocol:
    return cast("WireProtocol", import_module(_PROTOCOLS[api]))


@cache
def warm_up_api(api: Api) -> None:
    """Load what the first call by this API loads."""
    _protocol(api).warm_up()


class RemoteProvider(Provider):
    """One configured or built-in provider."""

    def __init__(self, name: str, catalog: Catalog, endpoints: Sequence[Endpoint]) -> None:
        self.name = name
        self.api = catalog.api(name)
        self.endpoints = tuple(endpoints)
        """One for each key, in order of use."""
        self._catalog = catalog

    def model(self, name: str) -> ModelInfo:
        return self._catalog.model(self.name, name)

    def api_of(self, model: str) -> str:
        return self.model(model).api

    def context_window(self, model: str) -> int:
        return self.model(model).context_window

    def max_output_tokens(self, model: str) -> int:
        return self.model(model).max_tokens

    def reads_pdfs(self, model: str) -> bool:
        return self.model(model).files

    def warm_up(self, model: str) -> None:
        warm_up_api(self.model(model).api)

    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        endpoint = request.endpoint or self._first()
        call = Call(request, self.model(request.model), endpoint)
        return withhold_refused_files(call, _protocol(call.model.api).stream(call, cancel))

    def _first(self) -> Endpoint:
        if self.endpoints:
            return self.endpoints[0]
        variable = _KEYS.get(self.name)
        raise ProviderError(
            f"there is no key for {self.name}",
            reason=FailureReason.AUTH_PERMANENT,
            hint=f"set {variable}" if variable else f"set models.providers.{self.name}.apiKey",
        )


def endpoints_of(name: str, given: ProviderSettings) -> list[Endpoint]:
    """The endpoints of a provider in order of use: its profiles, then its single key.

    A provider with a baseUrl may need no key. Anthropic and OpenAI always need one.
    """
    profiles = {profile.id: profile.api_key for profile in given.auth_profiles}
    # A dict keeps the first position of a key, so profiles that `authOrder` does not name follow those that it does.
    keys: dict[str, SecretStr | None] = {each: profiles[each] for each in [*given.auth_order, *profiles]}
    if given.api_key is not None:
        # A profile may itself be called "default"; its key wins.
        keys.setdefault("default", given.api_key)
    if not keys and given.base_url:
        keys["default"] = None
    limits = {profile.id: profile.limits for profile in given.auth_profiles}
    return [endpoint(name, given, profile, key, limits.get(profile)) for profile, key in keys.items()]


def endpoint(
    name: str,
    given: ProviderSettings,
    profile_id: str,
    api_key: SecretStr | None,
    limits: LimitSettings | None = None,
) -> Endpoint:
    """A provider's URL with one key and its rate limits."""
    return Endpoint(
        provider=name,
        profile_id=profile_id,
        base_url=given.base_url,
        api_key=api_key,
        headers=tuple(sorted(given.headers.items())),
        idle_seconds=idle_seconds_for(given.base_url),
        limits=limits or LimitSettings(),
    )
