"""Make text from people, models and tools safe to store as UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, so that the rest of the text can be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def encodable_json(value: Any) -> Any:
    """Do the same for every string in a JSON value."""
    return in_json(value, encodable)


def in_json(value: Any, change: Callable[[str], str]) -> Any:
    """Apply `change` to every string in a JSON value, including object keys."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(name): in_json(each, change) for name, each in value.items()}
        case list():
            return [in_json(each, change) for each in value]
        case _:
            return value
