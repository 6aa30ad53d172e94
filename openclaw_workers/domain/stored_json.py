"""JSON for Redis and its scripts, made of whatever text people, models and tools produce."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.errors import NewerRecord

SCHEMA = 1
"""The form of stored records and of tasks. Each carries it as `v`, so that a later version can tell how to read it."""


_OURS = f'{{"v":{SCHEMA},'


def versioned(text: str) -> str:
    """A JSON object with the form of stored records in front."""
    return f"{_OURS}{text[1:]}"


def record_json(fields: Mapping[str, Any]) -> str:
    """A record that no script reads, as JSON with its form. Names of files that are no text stay as they are."""
    return json.dumps({"v": SCHEMA, **fields})


def record_fields(raw: str | bytes, where: str) -> dict[str, Any]:
    """The fields of a record that `record_json` or a script wrote, without its form.

    Raises:
        NewerRecord: newer code wrote it, and this version might misread it.
    """
    fields: dict[str, Any] = json.loads(raw)
    check_form(fields.pop("v", None), where)
    return fields


# Inside a text the quotes have a backslash, so this finds keys only; an inner object may have such a key too.
_FORM = re.compile(r'(?<!\\)"v": ?(\d+)')


def check_form(form: object, where: str) -> None:
    """Check the form of a stored record. What carries none was written before forms were.

    Raises:
        NewerRecord: newer code wrote it, and this version might misread it.
    """
    text = str(form)
    if text.isdecimal() and int(text) > SCHEMA:
        raise NewerRecord(where, int(text), SCHEMA)


def check_json_form(raw: str | bytes, where: str) -> None:
    """The same for a record that is JSON text. It is parsed only if it may be newer.

    Raises:
        NewerRecord: as for `check_form`.
    """
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
    if text.startswith(_OURS) or all(int(form) <= SCHEMA for form in _FORM.findall(text)):
        return
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return  # damaged, as whoever reads it finds out
    if isinstance(record, dict):
        check_form(record.get("v"), where)


def to_json(value: Any) -> str:
    """A JSON value as scripts can read it: Lua's decoder refuses half a surrogate pair, also in its escaped form."""
    return replace_surrogates(json.dumps(value, ensure_ascii=False))


def model_json(model: BaseModel, **how: Any) -> str:
    """A record as JSON that can be stored, whatever is in its texts."""
    try:
        return model.model_dump_json(**how)
    except PydanticSerializationError:
        return to_json(model.model_dump(mode="json", **how))
