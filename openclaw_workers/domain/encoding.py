"""Text as it comes from people, models and tools, made fit to be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which UTF-8 cannot hold; the rest should not be lost with them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def encodable_json(value: Any) -> Any:
    """The same for every string in a JSON value."""
    return in_json(value, encodable)


def in_json(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every string in it changed, names too."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(name): in_json(each, change) for name, each in value.items()}
        case list():
            return [in_json(each, change) for each in value]
        case _:
            return value
