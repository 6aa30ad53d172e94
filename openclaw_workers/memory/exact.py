"""Exact searches: quoted words, or words joined by AND, must all appear in a result."""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|「([^」]+)」')
_AND = re.compile(r"\s+(?:AND|&&)\s+")


def exact_terms(query: str) -> list[str]:
    """The words or phrases that must appear; none for an ordinary query."""
    quoted = [next(filter(None, found)).strip() for found in _QUOTED.findall(query)]
    joined = [term.strip().strip('"“”「」') for term in _AND.split(query)] if _AND.search(query) else []
    terms = joined if joined else quoted
    return [term for term in terms if term]


def has_all(text: str, terms: Sequence[str]) -> bool:
    """Whether all terms appear, in any case. Words of Latin letters must be whole words."""
    return all(_appears(text, term) for term in terms)


def _appears(text: str, term: str) -> bool:
    # Not `\b`: between Chinese characters there is no word border, and a term there would never match.
    start = r"(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", term) else ""
    end = r"(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]\Z", term) else ""
    return re.search(start + re.sub(r"\\?\s+", r"\\s+", re.escape(term)) + end, text, re.IGNORECASE) is not None
