"""What a model wrote becomes HTML that can neither run nor fetch anything."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.web.render import MOST_CHARS, render_markdown

HARMLESS = {"a", "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li"}
HARMLESS |= {"h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
PIECES = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<style>*{display:none}</style>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>)",
    "[x](/auth/logout)",
    "[x](//evil.example/)",
    "![x](https://evil.example/pixel.png)",
    '![<b>](https://evil.example/ "><script>")',
    "<https://example.com/>",
    "# head",
    "```\n<script>\n```",
    "`<b>`",
    "| a | b |\n|--:|---|\n| <i> | 2 |",
    "<!-- x --><![CDATA[x]]>",
    "&lt;script&gt;",
    "\x00\ud800",
]


class Seen(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words += data


def seen(text: str) -> Seen:
    html = render_markdown(text)
    assert html is not None
    return Seen(html)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=8))
def test_nothing_but_harmless_tags_and_absolute_links_comes_out(pieces: list[str]) -> None:
    found = seen("\n\n".join(pieces))
    assert found.tags <= HARMLESS
    for tag, name, value in found.attributes:
        assert (tag, name) in {("a", "href"), ("a", "title"), ("a", "rel"), ("a", "target"), ("ol", "start")}
        if name == "href":
            assert value.lower().startswith(("https://", "http://", "mailto:"))


def test_html_stays_text() -> None:
    found = seen("Look: <script>alert(1)</script>")
    assert found.words.strip() == "Look: <script>alert(1)</script>"
    assert found.tags == {"p"}


def test_an_image_becomes_a_link_that_nobody_follows_by_itself() -> None:
    found = seen("![a cat](https://example.com/cat.png)")
    assert found.tags == {"p", "a"}
    assert ("a", "href", "https://example.com/cat.png") in found.attributes
    assert found.words.strip() == "a cat"


def test_links_tell_the_other_side_nothing() -> None:
    found = seen("[there](https://example.com/)")
    assert ("a", "rel", "noopener noreferrer nofollow") in found.attributes
    assert ("a", "target", "_blank") in found.attributes


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a\nb", {"p", "br"}),
        ("**a** _b_ ~~c~~ `d`", {"p", "strong", "em", "s", "code"}),
        ("| a |\n|--:|\n| 1 |", {"table", "thead", "tbody", "tr", "th", "td"}),
        ("3. a\n4. b", {"ol", "li"}),
        ("> a\n\n```py\nx\n```", {"blockquote", "p", "pre", "code"}),
    ],
)
def test_markdown_is_rendered(text: str, tags: set[str]) -> None:
    assert seen(text).tags == tags


def test_a_very_long_text_stays_plain() -> None:
    assert render_markdown("x" * (MOST_CHARS + 1)) is None
