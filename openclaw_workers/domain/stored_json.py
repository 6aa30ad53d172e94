"""JSON for Redis and its scripts, made of whatever text people, models and tools produce."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from openclaw_workers.domain.encoding import replace_surrogates

SCHEMA = 1
"""The form of stored records and of tasks. Each carries it as `v`, so that a later version can tell how to read it."""


def versioned(text: str) -> str:
    """A JSON object with the form of stored records in front."""
    return f'{{"v":{SCHEMA},{text[1:]}'


def to_json(value: Any) -> str:
    """A JSON value as scripts can read it: Lua's decoder refuses half a surrogate pair, also in its escaped form."""
    return replace_surrogates(json.dumps(value, ensure_ascii=False))


def model_json(model: BaseModel, **how: Any) -> str:
    """A record as JSON that can be stored, whatever is in its texts."""
    try:
        return model.model_dump_json(**how)
    except PydanticSerializationError:
        return to_json(model.model_dump(mode="json", **how))
