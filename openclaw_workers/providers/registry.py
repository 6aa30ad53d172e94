"""All providers of a configuration, by the name before the slash in `provider/model`."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

import structlog

from openclaw_workers.config.model_catalog import Catalog
from openclaw_workers.config.models import ModelsSettings, ProviderSettings
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.offline.provider import OfflineProvider
from openclaw_workers.providers.program.provider import ProgramProvider
from openclaw_workers.providers.remote import RemoteProvider, endpoints_of

log = structlog.get_logger(__name__)


class Providers:
    """All providers of one configuration, each built on first use and then shared by all threads."""

    def __init__(self, settings: ModelsSettings | None = None) -> None:
        self._settings = settings or ModelsSettings()
        self.catalog = Catalog(self._settings)
        self._built: dict[str, Provider] = {}
        self._lock = Lock()
        self._names = sorted({"offline", *self.catalog.providers(), *(["cli"] if self._settings.cli else [])})

    def names(self) -> list[str]:
        return list(self._names)

    def get(self, name: str) -> Provider:
        """The provider of that name.

        Raises:
            ProviderError: there is none (`model_not_found`).
        """
        if name not in self._names:
            raise ProviderError(
                f"unknown provider {name!r}; known are: {', '.join(self.names())}",
                reason=FailureReason.MODEL_NOT_FOUND,
            )
        with self._lock:
            if name not in self._built:
                self._built[name] = self._build(name)
            return self._built[name]

    def split(self, name: str) -> tuple[str, str]:
        """Split `provider/model` at the first slash; the model's own name may contain more slashes.

        Raises:
            ProviderError: a part is missing, or the provider is unknown (`model_not_found`).
        """
        provider, slash, model = name.partition("/")
        if not (provider and slash and model):
            raise ProviderError(
                f"the model name {name!r} needs a provider and a model, as in 'offline/demo'",
                reason=FailureReason.MODEL_NOT_FOUND,
            )
        self.get(provider)
        return provider, model

    def warm_up(self, models: Iterable[str]) -> None:
        """Load what the first calls of these models would have to load; a name that leads nowhere is passed over."""
        for name in models:
            try:
                provider, model = self.split(name)
                self.get(provider).warm_up(model)
            except Exception as error:  # noqa: BLE001 (an SDK may raise anything; its first call loads the rest then)
                log.warning("model.not_loaded", model=name, error=str(error))

    def _build(self, name: str) -> Provider:
        match name:
            case "offline":
                return OfflineProvider()
            case "cli":
                return ProgramProvider(self._settings.cli)
            case _:
                given = self._settings.providers.get(name, ProviderSettings())
                return RemoteProvider(name, self.catalog, endpoints_of(name, given))
