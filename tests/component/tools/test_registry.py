"""Tools are found by their name or an alias."""

from __future__ import annotations

from openclaw_workers.tools.aliases import arguments, canonical
from openclaw_workers.tools.base import Effect
from openclaw_workers.tools.registry import builtin_tools, specs


def test_there_is_one_tool_per_effect() -> None:
    assert {tool.effect for tool in builtin_tools()} == set(Effect)


def test_tool_names_of_other_projects_are_accepted() -> None:
    assert [canonical(name) for name in ("read_file", "write_file", "shell")] == ["read", "write", "exec"]
    assert canonical("memory_search") == "memory_search"


def test_a_tool_name_may_contain_the_action() -> None:
    assert {canonical(f"subagent.{action}") for action in ("list", "stop", "send")} == {"subagents"}
    assert arguments("subagent.stop", {"runId": "run-1"}) == {"runId": "run-1", "action": "stop"}
    assert arguments("read_file", {"path": "x"}) == {"path": "x"}


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
