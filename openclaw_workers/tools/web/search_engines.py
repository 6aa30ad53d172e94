"""The services that search the web: what each is asked, and how it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

import httpx2
from pydantic import SecretStr

from openclaw_workers.config.web import SearchEngine, WebSearchSettings
from openclaw_workers.tools.web.port import SearchQuery, SearchResult

_BRAVE_URL: Final = "https://api.search.brave.com/res/v1/web/search"
_TAVILY_URL: Final = "https://api.tavily.com/search"
_BRAVE_FRESHNESS: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    def request(self, query: SearchQuery) -> httpx2.Request: ...

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]: ...


class Brave:
    name = "Brave Search"

    def __init__(self, api_key: SecretStr, url: str = _BRAVE_URL) -> None:
        self._api_key = api_key
        self._url = url

    def request(self, query: SearchQuery) -> httpx2.Request:
        asked = {
            "q": query.text,
            "count": str(query.count),
            "country": query.country.upper(),
            "search_lang": query.language,
            "freshness": _BRAVE_FRESHNESS.get(query.freshness or "", ""),
        }
        headers = {"Accept": "application/json", "X-Subscription-Token": self._api_key.get_secret_value()}
        return httpx2.Request("GET", self._url, params=_given(asked), headers=headers)

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        found = (answer.get("web") or {}).get("results") or []
        return [_result(each, text="description", age="age") for each in found]


class Tavily:
    name = "Tavily"

    def __init__(self, api_key: SecretStr, url: str = _TAVILY_URL) -> None:
        self._api_key = api_key
        self._url = url

    def request(self, query: SearchQuery) -> httpx2.Request:
        asked = {"query": query.text, "max_results": query.count, "time_range": query.freshness or ""}
        headers = {"Authorization": f"Bearer {self._api_key.get_secret_value()}"}
        return httpx2.Request("POST", self._url, json=_given(asked), headers=headers)

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        return [_result(each, text="content", age="published_date") for each in answer.get("results") or []]


class Searxng:
    name = "SearXNG"

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url.rstrip('/')}/search"

    def request(self, query: SearchQuery) -> httpx2.Request:
        language = f"{query.language}-{query.country}" if query.language and query.country else query.language
        asked = {"q": query.text, "format": "json", "language": language, "time_range": query.freshness or ""}
        return httpx2.Request("GET", self._url, params=_given(asked), headers={"Accept": "application/json"})

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        return [_result(each, text="content", age="publishedDate") for each in answer.get("results") or []]


def engine_for(settings: WebSearchSettings) -> Engine | None:
    """The service that the configuration names, or the first that is configured; None if none is."""
    order: tuple[SearchEngine, ...] = ("brave", "searxng", "tavily")
    for name in (settings.provider,) if settings.provider else order:
        if engine := _configured(name, settings):
            return engine
    return None


def _configured(name: SearchEngine, settings: WebSearchSettings) -> Engine | None:
    # The key without a service's name belongs to the configured service, and to Brave if none is.
    shared = settings.api_key if (settings.provider or "brave") == name else None
    match name:
        case "brave":
            key = settings.brave.api_key or shared
            return Brave(key) if key else None
        case "tavily":
            key = settings.tavily.api_key or shared
            return Tavily(key) if key else None
        case "searxng":
            return Searxng(settings.searxng.base_url) if settings.searxng.base_url else None


def parse_answer(data: bytes) -> Mapping[str, Any] | None:
    """The JSON object that a service answered with; None if it is none."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value != ""}


def _result(found: Any, *, text: str, age: str) -> SearchResult:
    fields = found if isinstance(found, dict) else {}
    title, url = (_line(fields.get(name)) for name in ("title", "url"))
    return SearchResult(title, url, text=_line(fields.get(text)), age=_line(fields.get(age)))


def _line(value: Any) -> str:
    return " ".join(str(value or "").split())
