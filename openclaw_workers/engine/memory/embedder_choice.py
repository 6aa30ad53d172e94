"""Which embedder an agent uses, and with which key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from openclaw_workers.config.memory import MemorySearchSettings
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.llm.auth_profiles import endpoints_for
from openclaw_workers.errors import OpenClawError
from openclaw_workers.memory.embedders.base import Embedder, VectorCache
from openclaw_workers.memory.embedders.cached import CachedEmbedder
from openclaw_workers.memory.embedders.endpoint import EndpointAccess, EndpointEmbedder
from openclaw_workers.memory.embedders.offline import OfflineEmbedder
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.registry import Providers

OFFLINE_NAMES = ("offline", "local", "wordllama")
DEFAULT_MODEL = "text-embedding-3-small"
OPENAI_URL = "https://api.openai.com/v1"

RecordTokens = Callable[[AgentConfig, str, str, int], None]
"""Told the agent, provider, model and tokens of each call."""


class EmbedderChoice:
    def __init__(
        self,
        settings: Settings,
        state_dir: Path,
        cache: Callable[[int], VectorCache],
        record: RecordTokens,
    ) -> None:
        """`cache` makes a cache of a given size."""
        self._settings = settings
        self._state_dir = state_dir
        self._providers = Providers(settings.models)
        self._cache = cache
        self._record = record
        self._offline = OfflineEmbedder()
        self._chosen: dict[str, tuple[Embedder | None, str]] = {}

    def of(self, agent: AgentConfig) -> tuple[Embedder | None, str]:
        """The embedder; without one, the reason."""
        if agent.id not in self._chosen:
            self._chosen[agent.id] = self._choose(agent, agent.memory_search)
        return self._chosen[agent.id]

    def _choose(self, agent: AgentConfig, given: MemorySearchSettings) -> tuple[Embedder | None, str]:
        provider, model = names_of(given)
        if provider == "none":
            return None, "memorySearch.provider is none"
        if provider in OFFLINE_NAMES:
            return self._offline, ""
        try:
            keys = self._accesses(agent, provider)
        except OpenClawError as error:
            return None, f"memorySearch.provider {provider}: {error.message}"
        if not keys:
            return None, f"memorySearch.provider {provider} has no key; set models.providers.{provider}.apiKey"

        def record(tokens: int) -> None:
            self._record(agent, provider, model, tokens)

        embedder: Embedder = EndpointEmbedder(provider, model, keys, record=record)
        if given.cache.enabled:
            embedder = CachedEmbedder(embedder, self._cache(given.cache.max_entries))
        return embedder, ""

    def _accesses(self, agent: AgentConfig, provider: str) -> Sequence[EndpointAccess]:
        given = self._settings.models.providers.get(provider, ProviderSettings())
        groups = endpoints_for(agent, self._providers.get(provider), given, self._state_dir)
        endpoints = [each for group in groups for each in group if each is not None]
        return [_access(each) for each in endpoints]


def names_of(given: MemorySearchSettings) -> tuple[str, str]:
    """Provider and model as the settings mean them."""
    provider, model = given.provider, given.model or ""
    if provider == "auto":
        named, slash, rest = model.partition("/")
        return (named, rest) if slash else ("offline", "")
    return provider, model.removeprefix(f"{provider}/") or DEFAULT_MODEL


def _access(endpoint: Endpoint) -> EndpointAccess:
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else "none"
    return EndpointAccess(endpoint.base_url or OPENAI_URL, key, tuple(endpoint.plain_headers().items()))
