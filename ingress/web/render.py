"""Markdown that a model wrote, as HTML that a browser may show.

Nothing in it can run, fetch or restyle: HTML in the text stays text, images become links, and what comes out goes
through a second, independent sanitiser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from openclaw_workers.domain.encoding import replace_surrogates

MOST_CHARS = 200_000
"""Of one text. A longer one stays plain text."""

_ABSOLUTE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
"""A relative link would lead to an address of this server."""

_TAGS = {"a", "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li"}
_TAGS |= {"h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}


def render_markdown(text: str) -> str | None:
    """Safe HTML; None if the text is too long to render."""
    if len(text) > MOST_CHARS:
        return None
    return nh3.clean(
        _MARKDOWN.render(replace_surrogates(text)),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _image_as_link(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    """An image would be a request to another host, made by whoever only reads."""
    token = tokens[index]
    name = token.content or "image"
    link = Token("link_open", "a", 1, attrs={"href": str(token.attrs.get("src", ""))})
    return f"{self.renderToken([link], 0, options, env)}{_escaped(name)}</a>"


def _escaped(text: str) -> str:
    return nh3.clean_text(text)


def _build() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    markdown.validateLink = lambda url: _ABSOLUTE.match(url) is not None  # type: ignore[method-assign]
    markdown.add_render_rule("image", _image_as_link)
    return markdown


_MARKDOWN = _build()
