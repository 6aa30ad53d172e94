"""The model catalog: the built-in models and those of the configuration, with their capabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pydantic import SecretStr

from openclaw_workers.config import builtin_models as builtin
from openclaw_workers.config.models import Api, CostSettings, ModelsSettings, ProviderModelSettings, ProviderSettings
from openclaw_workers.errors import FailureReason, ProviderError

_DEFAULT_API: Final[dict[str, Api]] = {"anthropic": "anthropic-messages", "openai": "openai-responses"}


@dataclass(frozen=True, slots=True)
class ModelInfo:
    provider: str
    id: str
    api: Api
    context_window: int
    max_tokens: int
    reasoning: bool = False
    images: bool = False
    files: bool = False
    """PDFs."""
    cost: CostSettings | None = None
    """None if the price is not known."""
    headers: tuple[tuple[str, SecretStr], ...] = ()

    @property
    def ref(self) -> str:
        return f"{self.provider}/{self.id}"


class Catalog:
    """The models of one configuration."""

    def __init__(self, settings: ModelsSettings) -> None:
        self._settings = settings
        # Asked several times for each call, of settings that never change.
        self._found = lru_cache(maxsize=1024)(self._find)

    def providers(self) -> list[str]:
        """The names of all providers with an HTTP API."""
        return sorted({*_DEFAULT_API, *self._settings.providers})

    def models(self, provider: str) -> list[ModelInfo]:
        """The listed models of a provider, which may serve more."""
        given = self._settings.providers.get(provider, ProviderSettings())
        listed = {model.id: self._configured(provider, given, model) for model in given.models}
        if self._settings.mode == "replace" and given.models:
            return list(listed.values())
        built_in = {known.id: self._built_in(provider, given, known) for known in builtin.MODELS.get(provider, ())}
        return list({**built_in, **listed}.values())

    def model(self, provider: str, name: str) -> ModelInfo:
        """The properties of a model. An unlisted one is assumed to be like its provider's others.

        Raises:
            ProviderError: the provider's list is complete and does not contain it (`model_not_found`).
        """
        return self._found(provider, name)

    def _find(self, provider: str, name: str) -> ModelInfo:
        models = self.models(provider)
        for model in models:
            if model.id == name:
                return model
        given = self._settings.providers.get(provider, ProviderSettings())
        if self._settings.mode == "replace" and given.models:
            raise ProviderError(
                f"there is no model {provider}/{name}; configured are {', '.join(each.id for each in models)}",
                reason=FailureReason.MODEL_NOT_FOUND,
                hint="name one of them, or set models.mode to merge",
            )
        assumed = builtin.assumed_model(provider, name)
        return replace(self._built_in(provider, given, assumed), id=name)

    def api(self, provider: str) -> Api:
        """The API of a provider. Servers compatible with OpenAI rarely support more than Chat Completions."""
        given = self._settings.providers.get(provider, ProviderSettings())
        if given.api:
            return given.api
        if provider == "openai" and given.base_url:
            return "openai-completions"
        return _DEFAULT_API.get(provider, "openai-completions")

    def _built_in(self, provider: str, given: ProviderSettings, known: builtin.BuiltinModel) -> ModelInfo:
        return ModelInfo(
            provider=provider,
            id=known.id,
            # Behind another address is another server, which need not speak the API of the original.
            api=given.api or (None if given.base_url else known.api) or self.api(provider),
            context_window=known.context_window,
            max_tokens=known.max_tokens,
            reasoning=known.reasoning,
            images=known.images,
            # Many compatible servers reject a request with a content part they do not know.
            files=known.files and not given.base_url,
            cost=known.cost,
        )

    def _configured(self, provider: str, given: ProviderSettings, model: ProviderModelSettings) -> ModelInfo:
        return ModelInfo(
            provider=provider,
            id=model.id,
            api=model.api or self.api(provider),
            context_window=model.context_window,
            max_tokens=model.max_tokens,
            reasoning=model.reasoning,
            images="image" in model.input,
            files="file" in model.input,
            # A price that nobody gave is unknown and not zero: budgets must not count such calls as free.
            cost=model.cost if "cost" in model.model_fields_set else None,
            headers=tuple(sorted(model.headers.items())),
        )
