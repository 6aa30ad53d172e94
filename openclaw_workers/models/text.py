"""Text as it comes from people, models and tools, made fit to be stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError


def encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which UTF-8 cannot hold; the rest should not be lost with them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def encodable_json(value: Any) -> Any:
    """The same for every string in a JSON value."""
    return in_json(value, encodable)


def to_json(value: Any) -> str:
    """A JSON value as scripts can read it: Lua's decoder refuses half a surrogate pair, also in its escaped form."""
    return encodable(json.dumps(value, ensure_ascii=False))


def model_json(model: BaseModel, **how: Any) -> str:
    """A record as JSON that can be stored, whatever is in its texts."""
    try:
        return model.model_dump_json(**how)
    except PydanticSerializationError:
        return to_json(model.model_dump(mode="json", **how))


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
