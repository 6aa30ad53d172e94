"""The tools that read and search the web."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, StrictInt

from openclaw_workers.config.base import BaseUrl, Bytes, Secret, Section

SearchEngine = Literal["brave", "searxng", "tavily"]


class WebFetchSettings(Section):
    enabled: StrictBool = True
    """Whether agents have the tool web_fetch."""

    max_chars: StrictInt = Field(default=50_000, ge=100, le=1_000_000)
    """Characters of a page to return at most; the call may ask for fewer."""

    max_response_bytes: Bytes = Field(default=2_000_000, ge=32_000, le=10_000_000)
    """Bytes of a page to download at most; the rest is left out."""

    timeout_seconds: StrictInt = Field(default=30, ge=1, le=300)
    """Seconds one call may take, redirects included."""

    max_redirects: StrictInt = Field(default=3, ge=0, le=20)
    """Redirects to follow at most."""

    cache_ttl_minutes: StrictInt = Field(default=15, ge=0)
    """Minutes for which a worker keeps a page; 0 keeps none."""

    user_agent: str = Field(default="Mozilla/5.0 (compatible; OpenClawWorkers)", min_length=1)
    """What the tool calls itself to web servers."""


class SearchKeySettings(Section):
    api_key: Secret | None = None
    """API key; BRAVE_API_KEY and TAVILY_API_KEY set it too."""


class SearxngSettings(Section):
    base_url: BaseUrl | None = None
    """URL of the SearXNG server; its `json` format must be allowed."""


class WebSearchSettings(Section):
    enabled: StrictBool = True
    """Whether agents have the tool web_search."""

    provider: SearchEngine | None = None
    """Which service searches: brave, searxng or tavily; unset: the first of them that is configured."""

    api_key: Secret | None = None
    """API key of the provider, or of brave if none is named; the key of the provider's own block wins."""

    brave: SearchKeySettings = SearchKeySettings.model_construct()
    """Brave Search."""

    tavily: SearchKeySettings = SearchKeySettings.model_construct()
    """Tavily."""

    searxng: SearxngSettings = SearxngSettings.model_construct()
    """SearXNG, which needs no key."""

    max_results: StrictInt = Field(default=5, ge=1, le=20)
    """Results to return if the call names no number."""

    timeout_seconds: StrictInt = Field(default=30, ge=1, le=300)
    """Seconds one search may take."""

    cache_ttl_minutes: StrictInt = Field(default=15, ge=0)
    """Minutes for which a worker keeps the results of a search; 0 keeps none."""


class WebSettings(Section):
    fetch: WebFetchSettings = WebFetchSettings.model_construct()
    """The tool web_fetch, which reads a page. It never connects to private addresses."""

    search: WebSearchSettings = WebSearchSettings.model_construct()
    """The tool web_search."""
