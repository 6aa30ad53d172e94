"""`web_search` over the wire, with each service."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.web import WebSettings
from openclaw_workers.errors import ToolError, ToolInputInvalid, ToolTimedOut, TurnAborted
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.registry import builtin_tools
from openclaw_workers.tools.web.client import NOT_CONFIGURED, WebClient
from openclaw_workers.tools.web.search_engines import Brave, Engine, Searxng, Tavily
from tests.component.tools.conftest import answer_of
from tests.support.web_site import Response, Site, Visit, visitor

KEY = SecretStr("key-4711-secret")
ENGINES: dict[str, Callable[[Site], Engine]] = {
    "brave": lambda site: Brave(KEY, site.url("/search")),
    "tavily": lambda site: Tavily(KEY, site.url("/search")),
    "searxng": lambda site: Searxng(site.url("")),
}


def found(many: int) -> Response:
    results = [
        {"title": f"Title {n}", "url": f"https://{n}.example/", "content": f"Text {n}", "description": f"Text {n}"}
        for n in range(many)
    ]
    return Response(json.dumps({"web": {"results": results}, "results": results}), "application/json")


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(search=found(8)) as site:
        yield site


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest, site: Site) -> Engine:
    return ENGINES[request.param](site)


def searched(context: ToolContext, web: WebClient, query: str = "red pandas", **arguments: Any) -> str:
    answer = answer_of("web_search", {"query": query, **arguments}, dataclasses.replace(context, web=web))
    assert isinstance(answer, str)
    return answer


def test_results_are_listed_with_their_addresses(context: ToolContext, site: Site, engine: Engine) -> None:
    text = searched(context, visitor(engine=engine), count=2)
    assert text == ("1. Title 0\n   https://0.example/\n   Text 0\n2. Title 1\n   https://1.example/\n   Text 1")


def test_the_number_of_results_is_configured(context: ToolContext, site: Site, engine: Engine) -> None:
    assert searched(context, visitor(engine=engine)).count("https://") == 5
    assert searched(context, visitor(engine=engine, search={"maxResults": 7})).count("https://") == 7


def test_nothing_found_is_said(context: ToolContext, site: Site, engine: Engine) -> None:
    site.pages["/search"] = found(0)
    assert searched(context, visitor(engine=engine)) == "(nothing was found for 'red pandas')"


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (Response("bad key key-4711-secret", status=401), "answered 401: its key is wrong"),
        (Response("slow down", status=429), "answered 429: too many searches"),
        (Response("oops", status=500), "answered 500; try again later"),
        (Response("<html>", status=200), "answered 200 with something that is not a JSON object"),
        (Response("", status=302, headers={"Location": "http://127.0.0.1/"}), "answered 302"),
    ],
)
def test_a_failure_is_explained_without_the_key(
    context: ToolContext, site: Site, engine: Engine, response: Response, why: str
) -> None:
    site.pages["/search"] = response
    web = visitor(engine=engine, search={"apiKey": KEY.get_secret_value()})
    with pytest.raises(ToolError, match=why) as refused:
        searched(context, web)
    assert KEY.get_secret_value() not in f"{refused.value} {refused.value.output}"


def test_without_a_service_the_error_says_what_to_configure(context: ToolContext) -> None:
    with pytest.raises(ToolError) as refused:
        searched(context, WebClient(WebSettings()))
    assert refused.value.message == NOT_CONFIGURED
    for name in ("BRAVE_API_KEY", "TAVILY_API_KEY", "tools.web.search.searxng.baseUrl"):
        assert name in NOT_CONFIGURED


def test_results_are_kept_for_a_while(context: ToolContext, site: Site) -> None:
    kept = visitor(engine=Brave(KEY, site.url("/search")))
    none_kept = visitor(engine=Brave(KEY, site.url("/search")), search={"cacheTtlMinutes": 0})
    for web, visits in ((kept, 1), (none_kept, 2)):
        site.visits.clear()
        assert searched(context, web) == searched(context, web)
        assert len(site.visits) == visits


def test_a_slow_service_ends_after_the_time_that_is_set(context: ToolContext, site: Site) -> None:
    site.pages["/search"] = Response("x" * 100, hangs=True)
    began = time.monotonic()
    with pytest.raises(ToolTimedOut, match="Brave Search did not answer within 1 s"):
        searched(context, visitor(engine=Brave(KEY, site.url("/search")), search={"timeoutSeconds": 1}))
    assert time.monotonic() - began < 3


def test_a_stopped_turn_ends_the_search(context: ToolContext, site: Site, cancel: Cancel) -> None:
    def stop(visit: Visit) -> Response:
        cancel.set(TurnAborted("stopped"))
        return Response("x" * 100, hangs=True)

    site.pages["/search"] = stop
    with pytest.raises(TurnAborted):
        searched(context, visitor(engine=Brave(KEY, site.url("/search"))))


def test_results_are_untrusted_and_the_arguments_are_checked(context: ToolContext) -> None:
    tool = next(each for each in builtin_tools() if each.name == "web_search")
    assert tool.is_result_untrusted(tool.parse({"query": "x", "freshness": "pw", "search_lang": "de"}))
    for wrong in ({"query": " "}, {"query": "x", "count": 21}, {"query": "x", "country": "Germany"}):
        with pytest.raises(ToolInputInvalid):
            tool.parse(wrong)
