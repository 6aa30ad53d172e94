"""`@tool`: what a function becomes, and what is said of one that cannot become a tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from openclaw_workers import CallContext, tool
from openclaw_workers.tools.base import Effect
from openclaw_workers.tools.plugins.load import plugin_of
from openclaw_workers.tools.plugins.plugin_tool import PluginLimits, PluginTool


@dataclass
class Place:
    city: str
    zip: int = 0


@tool(effect="none")
def plain(
    text: Annotated[str, "What to read"],
    copy: Annotated[int, Field(ge=1, description="How often")] = 2,
    unit: Literal["s", "ms"] = "s",
    place: Place | None = None,
    *,
    ctx: CallContext,
) -> str:
    """Read a text.

    It is read aloud.
    """
    return f"{text} {copy} {unit} {place} {ctx.agent_id}"


def made(function: Any) -> PluginTool:
    return plugin_of("mine", function, PluginLimits()).tools[0]


def test_the_schema_comes_from_the_annotations() -> None:
    spec = made(plain).spec

    assert (spec.name, spec.description) == ("plain", "Read a text. It is read aloud.")
    assert spec.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "What to read"},
            "copy": {"type": "integer", "minimum": 1, "default": 2, "description": "How often"},
            "unit": {"type": "string", "enum": ["s", "ms"], "default": "s"},
            "place": {
                "anyOf": [
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {"city": {"type": "string"}, "zip": {"type": "integer", "default": 0}},
                        "required": ["city"],
                    },
                    {"type": "null"},
                ],
                "default": None,
            },
        },
    }
    assert made(plain).effect is Effect.NONE
    assert made(plain).groups == ("plugins", "mine")


def test_called_directly_it_is_the_function() -> None:
    @tool
    def double(x: int) -> int:
        """Double it."""
        return 2 * x

    assert double(4) == 8
    assert repr(double) == "<tool double>"


def no_type(x) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Do it."""


def many(*words: str) -> None:
    """Do it."""


def undescribed(x: int) -> None: ...


def odd_type(x: Callable[[], None]) -> None:
    """Do it."""


def field_default(x: int = Field(default=1)) -> None:
    """Do it."""


@pytest.mark.parametrize(
    ("function", "options", "problem"),
    [
        (no_type, {}, "parameter x has no type; write one, such as `x: str`"),
        (many, {}, "parameter words has no name of its own"),
        (undescribed, {}, "a model needs a description; write a docstring"),
        (odd_type, {}, "a type that cannot be described to a model"),
        (field_default, {}, "has a Field as its default; write Annotated"),
        (plain.function, {"name": "no name"}, "the tool name 'no name' is not valid"),
        (plain.function, {"timeout_seconds": 0}, "timeout_seconds is 0; expected more than 0"),
        (plain.function, {"effect": "twice"}, "'twice' is not a valid Effect"),
    ],
)
def test_what_cannot_become_a_tool_is_refused_with_the_reason(
    function: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=problem.replace("(", r"\(").replace("[", r"\[")):
        tool(**options)(function)
