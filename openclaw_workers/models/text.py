"""Text as it comes from people, models and tools, made fit to be stored."""

from __future__ import annotations

from typing import Any


def encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which UTF-8 cannot hold; the rest should not be lost with them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def encodable_json(value: Any) -> Any:
    """The same for every string in a JSON value."""
    match value:
        case str():
            return encodable(value)
        case dict():
            return {encodable_json(name): encodable_json(each) for name, each in value.items()}
        case list():
            return [encodable_json(each) for each in value]
        case _:
            return value
