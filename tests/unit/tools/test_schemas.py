"""Schemas of others become what every model API accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.tools.schemas import MAX_SCHEMA_CHARS, portable_schema

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"type": "string"}, {"type": "object", "properties": {}}),
        ({"properties": None, "required": "x"}, {"type": "object", "properties": {}}),
        (
            {"$schema": "x", "title": "T", "properties": {"a": {"title": "A", **TEXT}}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"properties": {"b": TEXT}}}},
            {"type": "object", "properties": {"a": {"properties": {"b": TEXT}}}},
        ),
        (
            {"properties": {"a": {"$ref": "#/definitions/A", "description": "d"}}, "definitions": {"A": TEXT}},
            {"type": "object", "properties": {"a": {**TEXT, "description": "d"}}},
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}},
            {"type": "object", "properties": {"a": {"properties": {"a": {}}}}},
        ),
        (
            {"properties": {"a": {"$ref": "https://example.com/a.json"}, "b": {"$ref": "#/nowhere"}}},
            {"type": "object", "properties": {"a": {}, "b": {}}},
        ),
        (
            {"properties": {"a": {"type": "array"}, "b": True, "c": {"type": ["array", "null"]}}},
            {
                "type": "object",
                "properties": {
                    "a": {"type": "array", "items": {}},
                    "b": {},
                    "c": {"type": ["array", "null"], "items": {}},
                },
            },
        ),
        (
            {"properties": {"a": {"type": "array", "items": [TEXT, {"type": "number"}]}}},
            {"type": "object", "properties": {"a": {"type": "array", "items": TEXT}}},
        ),
        (
            {"properties": {"n": {"type": "number", "minimum": 1, "exclusiveMinimum": True}}},
            {"type": "object", "properties": {"n": {"type": "number", "minimum": 1}}},
        ),
        (
            {"oneOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT}}]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
        ),
        (
            {"allOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT}}]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]},
        ),
        (
            {"properties": {"a": TEXT}, "additionalProperties": False},
            {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
        ),
    ],
)
def test_a_schema_becomes_what_every_api_accepts(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert portable_schema(given).schema == expected


def test_property_names_are_changed_and_changed_back() -> None:
    schema = portable_schema({"properties": {"a b": TEXT, "a_b": TEXT, "ä": TEXT, "": {}}, "required": ["a b"]})

    assert list(schema.schema["properties"]) == ["a_b_2", "a_b", "_", "__2"]
    assert schema.schema["required"] == ["a_b_2"]
    arguments = schema.original_arguments({"a_b_2": 1, "a_b": 2, "other": 3})
    assert arguments == {"a b": 1, "a_b": 2, "other": 3}


def test_a_large_schema_loses_its_descriptions_first_and_then_its_insides() -> None:
    described = {"properties": {f"p{n}": {**TEXT, "description": "d" * 500} for n in range(50)}}
    deep = {"properties": {f"p{n}": {"type": "string", "enum": ["e" * 500]} for n in range(50)}}
    wide = {"properties": {f"{n:060}": TEXT for n in range(1000)}}

    assert portable_schema(described).schema["properties"]["p1"] == TEXT
    assert portable_schema(deep).schema["properties"]["p1"] == TEXT
    assert portable_schema(wide).schema == {"type": "object", "properties": {}}


def test_a_property_called_description_stays() -> None:
    many = {f"p{n}": {**TEXT, "description": "d" * 500} for n in range(50)}
    schema = portable_schema({"properties": {"description": TEXT, **many}}).schema

    assert schema["properties"]["description"] == TEXT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["properties", "items", "$ref", "anyOf", "allOf", "type", "required", "$defs", "x y"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["properties", "$defs", "allOf", "anyOf", "required", "$ref", "type"]), JSON))
def test_any_schema_gives_an_object_with_properties(schema: dict[str, Any]) -> None:
    made = portable_schema(schema).schema

    assert made["type"] == "object"
    assert isinstance(made["properties"], dict)
    assert set(made.get("required", [])) <= set(made["properties"])
    assert not {"anyOf", "allOf", "oneOf", "$ref", "$defs"} & made.keys()
    assert len(json.dumps(made)) <= MAX_SCHEMA_CHARS
