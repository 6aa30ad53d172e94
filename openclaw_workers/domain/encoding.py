"""Make text from people, models and tools safe to store as UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, so that the rest of the text can be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def replace_surrogates_in_json(value: Any) -> Any:
    """Do the same for every string in a JSON value."""
    return map_json_strings(value, replace_surrogates)


def map_json_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Apply `change` to every string in a JSON value, including object keys."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(name): map_json_strings(each, change) for name, each in value.items()}
        case list():
            return [map_json_strings(each, change) for each in value]
        case _:
            return value
