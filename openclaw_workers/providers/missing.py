"""A placeholder provider for a model that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ProviderError
from openclaw_workers.providers.base import ModelRequest, Provider, StreamEvent


class MissingProvider(Provider):
    """Keeps the model's place in the failover chain, so that people learn why it was skipped. It has no keys."""

    api = "none"
    can_summarise = False

    def __init__(self, name: str, why: ProviderError) -> None:
        self.name = name
        self.why = why

    def context_window(self, model: str) -> int:
        raise self.why

    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        raise self.why
