"""The web as the tools use it, with a worker's settings. One of these serves all turns of a process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import httpx2

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.web import WebSettings
from openclaw_workers.errors import ToolError
from openclaw_workers.interruptible_http import make_interruptible
from openclaw_workers.redaction import mask_known, remove_secrets
from openclaw_workers.tools.web.body import decode_body
from openclaw_workers.tools.web.cache import ExpiringCache
from openclaw_workers.tools.web.connections import guarded_transport
from openclaw_workers.tools.web.extract import read_page
from openclaw_workers.tools.web.http_fetch import HttpFetcher, send, within
from openclaw_workers.tools.web.port import Mode, Page, SearchQuery, SearchResult
from openclaw_workers.tools.web.search_engines import Engine, engine_for, parse_answer

_CACHED: Final = 100
_ERROR_CHARS: Final = 4_000
_ANSWER_BYTES: Final = 2_000_000
NOT_CONFIGURED: Final = (
    "web_search is not configured. The operator can set BRAVE_API_KEY or tools.web.search.brave.apiKey, TAVILY_API_KEY "
    "or tools.web.search.tavily.apiKey, or tools.web.search.searxng.baseUrl. Until then, use web_fetch with a known URL"
)


class WebClient:
    """`pages` connects to public addresses only. `services` connects to what the operator has configured."""

    def __init__(
        self,
        settings: WebSettings,
        *,
        pages: httpx2.BaseTransport | None = None,
        services: httpx2.BaseTransport | None = None,
        engine: Engine | None = None,
    ) -> None:
        fetch, search = settings.fetch, settings.search
        self.max_chars = fetch.max_chars
        self.default_results = search.max_results
        self._fetch_seconds = fetch.timeout_seconds
        self._search_seconds = search.timeout_seconds
        self._fetcher = HttpFetcher(
            pages or guarded_transport(),
            max_bytes=fetch.max_response_bytes,
            max_redirects=fetch.max_redirects,
            user_agent=fetch.user_agent,
        )
        self._services = services or _plain_transport()
        self._engine = engine or engine_for(search)
        self._secrets = [search.api_key, search.brave.api_key, search.tavily.api_key]
        self._pages: ExpiringCache[Page] = ExpiringCache(_CACHED, fetch.cache_ttl_minutes * 60)
        self._searches: ExpiringCache[Sequence[SearchResult]] = ExpiringCache(_CACHED, search.cache_ttl_minutes * 60)

    def fetch(self, url: str, mode: Mode, *, cancel: Cancel, timeout_seconds: float) -> Page:
        """Fetch a page, or take it from the cache.

        Raises:
            ToolError: it cannot be had, or the server answered with an error.
        """
        known = self._pages.get((url, mode))
        if known is not None:
            return known
        seconds = min(self._fetch_seconds, timeout_seconds)
        fetched = self._fetcher.get(url, cancel=cancel, timeout_seconds=seconds)
        if fetched.status >= 400:
            said = mask_known(decode_body(fetched.data, fetched.content_type))[:_ERROR_CHARS]
            reason = httpx2.codes.get_reason_phrase(fetched.status)
            raise ToolError(f"{fetched.url} answered {fetched.status} {reason}".strip(), output=said)
        page = read_page(fetched, mode, cancel=cancel)
        # Images and PDFs are too large to keep a hundred of them in memory.
        if not page.file:
            self._pages.put((url, mode), page)
        return page

    def search(self, query: SearchQuery, *, cancel: Cancel, timeout_seconds: float) -> list[SearchResult]:
        """Search the web, or take the results from the cache.

        Raises:
            ToolError: no service is configured, or it does not answer.
        """
        engine = self._engine
        if engine is None:
            raise ToolError(NOT_CONFIGURED)
        known = self._searches.get(query)
        if known is not None:
            return list(known)
        seconds = min(self._search_seconds, timeout_seconds)
        with within(cancel, seconds, f"{engine.name} did not answer") as until:
            response, body = send(
                self._services, engine.request(query), until, max_bytes=_ANSWER_BYTES, timeout_seconds=seconds
            )
        answer = parse_answer(body.data)
        if response.status_code != 200 or answer is None:
            # Some services repeat the key in their error, and the model would read it.
            said = remove_secrets(decode_body(body.data, ""), self._secrets)[:_ERROR_CHARS]
            raise ToolError(
                f"{engine.name} answered {response.status_code}{_advice(response.status_code)}", output=said
            )
        results = [each for each in engine.results(answer) if each.url][: query.count]
        self._searches.put(query, results)
        return results


def _advice(status: int) -> str:
    match status:
        case 401 | 403:
            return ": its key is wrong or not allowed to search; tell the operator"
        case 429:
            return ": too many searches; wait a while"
        case 200:
            return " with something that is not a JSON object"
        case _:
            return "; try again later or with another query"


def _plain_transport() -> httpx2.HTTPTransport:
    transport = httpx2.HTTPTransport()
    make_interruptible(transport)
    return transport
