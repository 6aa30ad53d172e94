"""Why a server failed, in one line for people, without the secrets it was given."""

from __future__ import annotations

from collections.abc import Iterable

_MAX_CHARS = 400
_SHORTEST_SECRET = 4
"""Shorter values are common words, and hiding them would only garble the text."""


def failure_text(error: BaseException, secrets: Iterable[str] = ()) -> str:
    text = _describe(_first(error))
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return " ".join(text.split())[:_MAX_CHARS]


def _first(error: BaseException) -> BaseException:
    """The first error of a group: the others follow from it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _describe(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no program or directory {error.filename}"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    text = getattr(error, "message", None) or str(error)
    return str(text) or type(error).__name__
