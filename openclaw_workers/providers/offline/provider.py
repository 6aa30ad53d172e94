"""The offline models as a provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import ModelRequest, Provider, StreamEvent
from openclaw_workers.providers.offline import demo, script

_CONTEXT_TOKENS = 16_000
_MODELS: dict[str, Callable[[ModelRequest, Cancel], Iterator[StreamEvent]]] = {
    "demo": demo.stream,
    "script": script.stream,
}


class OfflineProvider(Provider):
    """Deterministic models without state: the answer depends only on the request."""

    name = "offline"
    api = "offline"
    can_summarise = False

    def context_window(self, model: str) -> int:
        _found(model)
        return _CONTEXT_TOKENS

    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        return _found(request.model)(request, cancel)


def _found(model: str) -> Callable[[ModelRequest, Cancel], Iterator[StreamEvent]]:
    if model not in _MODELS:
        have = " and ".join(f"offline/{name}" for name in _MODELS)
        raise ProviderError(
            f"there is no model offline/{model}; there are {have}",
            reason=FailureReason.MODEL_NOT_FOUND,
            status=404,
            hint="change `model`, or set a provider's API key and name one of its models",
        )
    return _MODELS[model]
