"""Docstrings of fields in JSON schemas."""

from __future__ import annotations

from pydantic import Field

from openclaw_workers.field_docs import DocumentedModel, field_docs


class Parent(DocumentedModel):
    first: int = 1
    """The first one."""
    plain: int = 2


class Below(Parent):
    second: int = Field(default=3, alias="secondOne")
    """The second one,
    in two lines."""
    first: int = 4
    """Another first one."""


def test_docstrings_describe_fields_and_those_of_parents() -> None:
    assert field_docs(Parent) == {"first": "The first one."}
    assert field_docs(Below) == {"first": "Another first one.", "second": "The second one,\nin two lines."}
    shown = Below.model_json_schema()["properties"]
    assert {name: each.get("description") for name, each in shown.items()} == {
        "first": "Another first one.",
        "plain": None,
        "secondOne": "The second one,\nin two lines.",
    }
