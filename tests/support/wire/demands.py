"""What all APIs require of a request."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any


def bad_names(place: str, names: Iterable[object]) -> Iterator[str]:
    """The names of tools."""
    for name in names:
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(name)):
            yield f"{place}: tool name {name!r} does not match '^[a-zA-Z0-9_-]{{1,64}}$'"


def repeated(place: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{place}: {name!r} must be unique"


def unknown_fields(place: str, given: Mapping[str, Any], known: Collection[str]) -> Iterator[str]:
    for name in given.keys() - set(known):
        yield f"{place}{name}: Extra inputs are not permitted"


def bad_schema(place: str, schema: object) -> Iterator[str]:
    if not isinstance(schema, dict) or schema.get("type") != "object" or {"oneOf", "allOf", "anyOf"} & schema.keys():
        yield f"{place}: the schema must be of type object, and no choice between several"
        return
    for name in schema.get("properties", {}):
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
            yield f"{place}: property {name!r} does not match '^[a-zA-Z0-9_.-]{{1,64}}$'"
    yield from _bad_parts(place, schema)


def _bad_parts(place: str, schema: object) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _bad_parts(place, each)
    elif isinstance(schema, dict):
        if schema.get("type") == "array" and "items" not in schema:
            yield f"{place}: array schema missing items"
        if not str(schema.get("$ref", "#")).startswith("#"):
            yield f"{place}: $ref {schema['$ref']!r} cannot be resolved"
        for each in schema.values():
            yield from _bad_parts(place, each)


def bad_arguments(place: str, text: object) -> Iterator[str]:
    try:
        fine = isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        fine = False
    if not fine:
        yield f"{place}: arguments must be a JSON object, as text"
