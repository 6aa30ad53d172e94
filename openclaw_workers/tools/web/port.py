"""What the web tools use: something that fetches pages and searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from openclaw_workers.cancel import Cancel

Mode = Literal["markdown", "text"]
Freshness = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class Page:
    """What a model is shown of a page."""

    url: str
    status: int
    kind: str
    title: str = ""
    text: str = ""
    is_cut: bool = False
    """Whether the page was longer than was downloaded."""
    file: bytes = b""
    """The page itself if it is an image or a PDF."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    text: str
    count: int
    country: str = ""
    language: str = ""
    freshness: Freshness | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    title: str
    url: str
    text: str = ""
    age: str = ""


class WebPort(Protocol):
    @property
    def max_chars(self) -> int:
        """Characters of a page that a call may return."""

    @property
    def default_results(self) -> int:
        """Results of a search that names no number."""

    def fetch(self, url: str, mode: Mode, *, cancel: Cancel, timeout_seconds: float) -> Page:
        """Raises ToolError if the page cannot be had."""

    def search(self, query: SearchQuery, *, cancel: Cancel, timeout_seconds: float) -> list[SearchResult]:
        """Raises ToolError if no service is configured, or it does not answer."""


NO_WEB = "there is no web here"
"""What a tool answers without a port."""
