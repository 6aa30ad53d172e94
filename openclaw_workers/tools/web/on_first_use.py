"""The web for workers, most of whose turns never use it: the HTTP client is loaded by the first call."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import cast

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.web import WebSettings
from openclaw_workers.tools.web.port import Mode, Page, SearchQuery, SearchResult, WebPort


class WebOnFirstUse:
    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self.max_chars = settings.fetch.max_chars
        self.default_results = settings.search.max_results

    @cached_property
    def _client(self) -> WebPort:
        module = import_module("openclaw_workers.tools.web.client")
        return cast("WebPort", module.WebClient(self._settings))

    def fetch(self, url: str, mode: Mode, *, cancel: Cancel, timeout_seconds: float) -> Page:
        return self._client.fetch(url, mode, cancel=cancel, timeout_seconds=timeout_seconds)

    def search(self, query: SearchQuery, *, cancel: Cancel, timeout_seconds: float) -> list[SearchResult]:
        return self._client.search(query, cancel=cancel, timeout_seconds=timeout_seconds)


def disabled_tools(settings: WebSettings) -> dict[str, str]:
    """The names of the web tools that the configuration takes from all agents, with the setting that does."""
    enabled = {"fetch": settings.fetch.enabled, "search": settings.search.enabled}
    return {f"web_{name}": f"tools.web.{name}.enabled" for name, is_enabled in enabled.items() if not is_enabled}
