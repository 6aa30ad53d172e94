"""Bodies, caches and search services, without a network."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from openclaw_workers.config.web import WebSearchSettings
from openclaw_workers.errors import ToolError
from openclaw_workers.tools.web.body import Body, decode_body, read_body
from openclaw_workers.tools.web.cache import ExpiringCache
from openclaw_workers.tools.web.port import SearchQuery, SearchResult
from openclaw_workers.tools.web.search_engines import Brave, Engine, Searxng, Tavily, engine_for, parse_answer


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "x-deflate": raw_deflate,
}


def in_chunks(data: bytes, size: int) -> Iterator[bytes]:
    yield b""
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(st.binary(max_size=400), st.sampled_from(sorted(PACKERS)), st.integers(1, 50), st.integers(1, 500))
def test_a_body_is_read_up_to_its_limit(data: bytes, packing: str, chunk: int, limit: int) -> None:
    packed = PACKERS[packing](data)
    if packing == "x-deflate" and packed[:1] in (b"\x1f", b"\x78"):
        return  # it looks like a head
    body = read_body(in_chunks(packed, chunk), packing.removeprefix("x-"), limit)
    assert body == Body(data[:limit], len(data) > limit)


def test_a_small_response_that_unpacks_to_much_is_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 200_000_000)
    assert len(bomb) < 300_000
    body = read_body([bomb], "gzip", 1000)
    assert body == Body(b"\0" * 1000, True)


@pytest.mark.parametrize(("data", "encoding"), [(b"x", "br"), (b"\x1f\x8bnothing", "gzip"), (b"\x78\x00", "deflate")])
def test_what_cannot_be_unpacked_is_said(data: bytes, encoding: str) -> None:
    with pytest.raises(ToolError, match="compressed"):
        read_body([data], encoding, 100)


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ("größe".encode(), "text/plain", "größe"),
        ("größe".encode("latin-1"), "text/plain; charset=ISO-8859-1", "größe"),
        ("大小".encode("gbk"), 'text/html; charset="gbk"', "大小"),
        (b"x", "text/plain; charset=nonsense", "x"),
        (b"\xef\xbb\xbfx", "text/plain", "x"),
    ],
)
def test_a_text_is_decoded_as_its_header_says(data: bytes, kind: str, text: str) -> None:
    assert decode_body(data, kind) == text


def test_a_cache_forgets_the_oldest_and_what_is_too_old() -> None:
    clock = [0.0]
    cache = ExpiringCache[int](2, 10, now=lambda: clock[0])
    for number in range(3):
        cache.put(number, number)
    assert [cache.get(number) for number in range(3)] == [None, 1, 2]
    cache.put(3, 3)
    assert [cache.get(number) for number in (1, 2, 3)] == [None, 2, 3], "what was used last stays"
    clock[0] = 10
    assert cache.get(2) is None
    off = ExpiringCache[int](2, 0, now=lambda: clock[0])
    off.put(1, 1)
    assert off.get(1) is None


KEY = SecretStr("secret-key")
QUERY = SearchQuery("red pandas", 3, "de", "en", "week")


def test_each_service_is_asked_in_its_own_words() -> None:
    brave, tavily, searxng = (each.request(QUERY) for each in (Brave(KEY), Tavily(KEY), Searxng("http://s:8080/x/")))
    assert str(brave.url) == (
        "https://api.search.brave.com/res/v1/web/search?q=red+pandas&count=3&country=DE&search_lang=en&freshness=pw"
    )
    assert brave.headers["x-subscription-token"] == "secret-key"
    assert (tavily.method, str(tavily.url)) == ("POST", "https://api.tavily.com/search")
    assert parse_answer(tavily.read()) == {"query": "red pandas", "max_results": 3, "time_range": "week"}
    assert tavily.headers["authorization"] == "Bearer secret-key"
    assert str(searxng.url) == "http://s:8080/x/search?q=red+pandas&format=json&language=en-de&time_range=week"


def test_answers_of_each_service_are_read() -> None:
    found = {"title": "A  title", "url": "https://a.example", "content": "text\nmore", "description": "text more"}
    expected = [SearchResult("A title", "https://a.example", "text more", "")]
    assert Brave(KEY).results({"web": {"results": [found]}}) == expected
    assert Tavily(KEY).results({"results": [found]}) == expected
    assert Searxng("http://s").results({"results": [found]}) == expected
    for engine in (Brave(KEY), Tavily(KEY), Searxng("http://s")):
        assert engine.results({}) == []
        assert engine.results({"web": None, "results": None}) == []
        assert engine.results({"web": {"results": ["x"]}, "results": [3]}) == [SearchResult("", "")]


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"[" * 100_000])
def test_an_answer_that_is_no_object_is_none(data: bytes) -> None:
    assert parse_answer(data) is None


@pytest.mark.parametrize(
    ("settings", "engine"),
    [
        ({}, None),
        ({"apiKey": "k"}, Brave),
        ({"brave": {"apiKey": "k"}, "tavily": {"apiKey": "k"}}, Brave),
        ({"tavily": {"apiKey": "k"}}, Tavily),
        ({"searxng": {"baseUrl": "http://127.0.0.1:8080"}, "tavily": {"apiKey": "k"}}, Searxng),
        ({"provider": "tavily", "brave": {"apiKey": "k"}}, None),
        ({"provider": "tavily", "apiKey": "k", "brave": {"apiKey": "k"}}, Tavily),
        ({"provider": "tavily", "tavily": {"apiKey": "k"}, "brave": {"apiKey": "k"}}, Tavily),
        ({"provider": "searxng", "apiKey": "k"}, None),
    ],
)
def test_the_configuration_chooses_the_service(settings: dict[str, object], engine: type[Engine] | None) -> None:
    chosen = engine_for(WebSearchSettings.model_validate(settings))
    assert (chosen and type(chosen)) is engine
