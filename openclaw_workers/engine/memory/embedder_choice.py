"""Which embedder an agent uses, and with which key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from openclaw_workers.config.memory import MemorySearchSettings
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.llm.auth_profiles import endpoints_for
from openclaw_workers.errors import OpenClawError
from openclaw_workers.memory.embedders.base import Embedder, VectorCache
from openclaw_workers.memory.embedders.cached import CachedEmbedder
from openclaw_workers.memory.embedders.endpoint import Ask, Embedded, EndpointEmbedder
from openclaw_workers.memory.embedders.offline import OfflineEmbedder
from openclaw_workers.providers.registry import Providers

OFFLINE_NAMES = ("offline", "local", "wordllama")
DEFAULT_MODEL = "text-embedding-3-small"

EmbeddingCall = Callable[[AgentConfig, str, str, int, Ask], Embedded]
"""Makes one call for an agent with its keys: provider, model, tokens, and how to ask with one key."""


class EmbedderChoice:
    def __init__(
        self,
        settings: Settings,
        state_dir: Path,
        cache: Callable[[int], VectorCache],
        call: EmbeddingCall,
    ) -> None:
        """`cache` makes a cache of a given size."""
        self._settings = settings
        self._state_dir = state_dir
        self._providers = Providers(settings.models)
        self._cache = cache
        self._call = call
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
            has_key = self._has_key(agent, provider)
        except OpenClawError as error:
            return None, f"memorySearch.provider {provider}: {error.message}"
        if not has_key:
            return None, f"memorySearch.provider {provider} has no key; set models.providers.{provider}.apiKey"

        def call(tokens: int, ask: Ask) -> Embedded:
            return self._call(agent, provider, model, tokens, ask)

        embedder: Embedder = EndpointEmbedder(provider, model, call)
        if given.cache.enabled:
            embedder = CachedEmbedder(embedder, self._cache(given.cache.max_entries))
        return embedder, ""

    def _has_key(self, agent: AgentConfig, provider: str) -> bool:
        given = self._settings.models.providers.get(provider, ProviderSettings())
        groups = endpoints_for(agent, self._providers.get(provider), given, self._state_dir)
        return any(each is not None for group in groups for each in group)


def names_of(given: MemorySearchSettings) -> tuple[str, str]:
    """Provider and model as the settings mean them."""
    provider, model = given.provider, given.model or ""
    if provider == "auto":
        named, slash, rest = model.partition("/")
        return (named, rest) if slash else ("offline", "")
    return provider, model.removeprefix(f"{provider}/") or DEFAULT_MODEL
