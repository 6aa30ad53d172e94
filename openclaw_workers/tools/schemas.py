"""JSON schemas from others, in the form that all three model APIs accept.

The APIs differ. All accept an object with named properties at the top. Some refuse unions at the top, references,
boolean schemas, arrays without items, keywords of old drafts, and property names with other characters than letters,
digits, `_`, `.` and `-`. References are replaced by what they refer to; nothing is ever fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_SCHEMA_CHARS = 20_000
"""A larger schema is sent without descriptions, and if it is still larger, without its properties' insides."""
_MAX_DEPTH = 24
_PROPERTY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_DROPPED: Final = frozenset(
    {
        "$ref",
        "$dynamicRef",
        "$schema",
        "$id",
        "$anchor",
        "$comment",
        "$defs",
        "definitions",
        "title",
        "examples",
        "nullable",
        "$vocabulary",
    }
)
_UNIONS: Final = ("anyOf", "oneOf", "allOf")
_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_SCHEMA: Final = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})


@dataclass(frozen=True, slots=True)
class InputSchema:
    """A schema for a model, and how the names of its properties were changed."""

    schema: dict[str, Any]
    original_names: Mapping[str, str] = field(default_factory=dict)
    """By the name that the model sees; only those that were changed."""

    def original_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {self.original_names.get(name, name): value for name, value in arguments.items()}


def portable_schema(given: Mapping[str, Any]) -> InputSchema:
    """The schema of a tool's arguments, for any of the model APIs."""
    root = _Inliner(given).schema(given, 0, ())
    schema = {"type": "object", "properties": {}, **_without_unions(root)}
    schema["type"] = "object"
    properties, names = _renamed(schema["properties"])
    changed = {old: new for new, old in names.items()}
    required = [changed.get(name, name) for name in schema.get("required", [])]
    schema["properties"] = properties
    schema["required"] = [name for name in dict.fromkeys(required) if name in properties]
    if not schema["required"]:
        del schema["required"]
    return InputSchema(_fitted(schema), names)


class _Inliner:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def schema(self, given: Any, depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        """`within`: the references that lead here, because a schema may contain itself."""
        if not isinstance(given, Mapping) or depth > _MAX_DEPTH:
            return {}
        reference = given.get("$ref") or given.get("$dynamicRef")
        if isinstance(reference, str):
            # A recursive schema cannot be written out; from here on anything is allowed, and the tool checks it.
            if reference in within:
                return {}
            others = {key: value for key, value in given.items() if key not in ("$ref", "$dynamicRef")}
            target = {**self._target(reference), **others}
            return self.schema(target, depth + 1, (*within, reference))
        kept = {
            str(key): self._value(str(key), value, depth, within) for key, value in given.items() if key not in _DROPPED
        }
        return _repaired(kept)

    def _value(self, key: str, value: Any, depth: int, within: tuple[str, ...]) -> Any:
        if key in _OF_SCHEMAS and isinstance(value, Mapping):
            return {str(name): self.schema(each, depth + 1, within) for name, each in value.items()}
        if key == "items" and isinstance(value, list):  # a tuple of old drafts
            return self.schema(value[0], depth + 1, within) if value else {}
        if key == "additionalProperties" and isinstance(value, bool):
            return value
        if key in _SCHEMA:
            return self.schema(value, depth + 1, within)
        if key in (*_UNIONS, "prefixItems") and isinstance(value, list):
            return [self.schema(each, depth + 1, within) for each in value]
        return value

    def _target(self, reference: str) -> Mapping[str, Any]:
        if not reference.startswith("#"):
            return {}
        found: Any = self._root
        # JSON pointers write / as ~1 and ~ as ~0, and must be undone in this order.
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}


def _repaired(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if kind == "array" or (isinstance(kind, list) and "array" in kind):
        schema.setdefault("items", {})
    for bound in ("exclusiveMinimum", "exclusiveMaximum", "required"):
        if isinstance(schema.get(bound), bool):  # draft 4
            del schema[bound]
    if "required" in schema:
        given = schema["required"] if isinstance(schema["required"], list) else []
        schema["required"] = [name for name in given if isinstance(name, str)]
    for key, kinds in (*((key, dict) for key in _OF_SCHEMAS), *((key, list) for key in (*_UNIONS, "prefixItems"))):
        if not isinstance(schema.get(key, kinds()), kinds):
            del schema[key]
    return schema


def _without_unions(root: dict[str, Any]) -> dict[str, Any]:
    """One object that takes what any of the alternatives takes; the tool itself still checks which it accepts."""
    merged = {key: value for key, value in root.items() if key not in (*_UNIONS, "not", "if", "then", "else")}
    properties = dict(merged.get("properties", {}))
    for union in _UNIONS:
        for each in root.get(union, []):
            inner = _without_unions(each)
            properties = {**inner.get("properties", {}), **properties}
            # What only one of several alternatives requires must not be required of all calls.
            if union == "allOf":
                merged["required"] = [*merged.get("required", []), *inner.get("required", [])]
    return {**merged, "properties": properties}


def _renamed(properties: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Properties by names that every API accepts, and the original names of those that had to change."""
    renamed: dict[str, Any] = {}
    originals: dict[str, str] = {}
    # Names that are valid already come first, so that no renamed property takes one of them.
    taken = {name for name in properties if _PROPERTY.fullmatch(name)}
    for name, schema in properties.items():
        if name in taken:
            renamed[name] = schema
            continue
        base = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:56] or "_"
        number, new = 2, base
        while new in taken or new in originals:
            number, new = number + 1, f"{base}_{number}"
        renamed[new], originals[new] = schema, name
    return renamed, originals


def _fitted(schema: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(schema)) <= MAX_SCHEMA_CHARS:
        return schema
    bare: dict[str, Any] = _without_descriptions(schema)
    if len(json.dumps(bare)) <= MAX_SCHEMA_CHARS:
        return bare
    types = {name: {key: inner[key] for key in ("type",) if key in inner} for name, inner in bare["properties"].items()}
    outline = {"type": "object", "properties": types}
    return outline if len(json.dumps(outline)) <= MAX_SCHEMA_CHARS else {"type": "object", "properties": {}}


def _without_descriptions(value: Any) -> Any:
    if isinstance(value, dict):
        # A property may itself be called `description`; its value is a schema and stays.
        is_text = isinstance(value.get("description"), str)
        kept = {key: each for key, each in value.items() if not (key == "description" and is_text)}
        return {key: _without_descriptions(each) for key, each in kept.items()}
    return [_without_descriptions(each) for each in value] if isinstance(value, list) else value
