"""The providers there are, by the name before the slash in `provider/model`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.offline.provider import OfflineProvider

_PROVIDERS: dict[str, Callable[[], Provider]] = {"offline": OfflineProvider}


def known_providers() -> list[str]:
    return sorted(_PROVIDERS)


@cache
def get_provider(name: str) -> Provider:
    """The provider of that name, built on first use and then shared by all threads.

    Raises:
        ProviderError: there is none (`model_not_found`).
    """
    if name not in _PROVIDERS:
        raise ProviderError(
            f"unknown provider {name!r}; known are: {', '.join(known_providers())}",
            reason=FailureReason.MODEL_NOT_FOUND,
        )
    return _PROVIDERS[name]()


def split_model(name: str) -> tuple[str, str]:
    """Take `provider/model` apart at the first slash; the model's own name may hold more of them.

    Raises:
        ProviderError: a part is missing or the provider is unknown (`model_not_found`).
    """
    provider, slash, model = name.partition("/")
    if not (provider and slash and model):
        raise ProviderError(
            f"the model {name!r} does not say both provider and model; write it as in 'offline/demo'",
            reason=FailureReason.MODEL_NOT_FOUND,
        )
    get_provider(provider)
    return provider, model
