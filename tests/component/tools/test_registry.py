"""The built-in tools and what a model is told of them."""

from __future__ import annotations

from openclaw_workers.tools.base import Effect
from openclaw_workers.tools.registry import builtin_tools, specs


def test_there_is_one_tool_per_effect() -> None:
    assert {tool.effect for tool in builtin_tools()} == set(Effect)


def test_every_field_is_described_and_the_order_is_stable() -> None:
    names = [spec.name for spec in specs()]
    assert names == sorted(names)
    assert {"exec", "read", "write", "sessions_spawn", "sessions_send", "subagents"} <= set(names)
    for spec in specs():
        assert spec.description
        assert spec.input_schema["additionalProperties"] is False
        for field in spec.input_schema["properties"].values():
            assert field["description"]
            assert "title" not in field
