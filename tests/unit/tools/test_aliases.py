"""MiniClaw's names of tools, in calls and in policies."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.agent.context.pruning import prune
from openclaw_workers.config.context import ContextPruningSettings
from openclaw_workers.domain.tool_spec import RAW_ARGUMENTS
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.tools.aliases import ALIASES, arguments, canonical
from openclaw_workers.tools.registry import builtin_tools
from tests.unit.agent.entries import assistant, result, user


@pytest.mark.parametrize(
    ("alias", "given", "tool", "mapped"),
    [
        ("read_file", {"path": "a"}, "read", {"path": "a"}),
        ("read_file", {"filename": "a", "start_line": 3, "lines": 2}, "read", {"path": "a", "offset": 3, "limit": 2}),
        ("write_file", {"file": "a", "text": "x"}, "write", {"path": "a", "content": "x"}),
        ("shell", {"cmd": "ls", "timeout": 5}, "exec", {"command": "ls", "timeout_seconds": 5}),
        ("shell", {"command": "ls", "cwd": "src"}, "exec", {"command": "ls", "workdir": "src"}),
        ("shell_start", {"cmd": "sleep 9"}, "exec", {"command": "sleep 9", "background": True}),
        ("shell_status", {"id": "s1"}, "process", {"sessionId": "s1", "action": "poll"}),
        ("shell_kill", {"sessionId": "s1"}, "process", {"sessionId": "s1", "action": "kill"}),
        ("http_get", {"url": "https://a.example"}, "web_fetch", {"url": "https://a.example"}),
        ("http_get", {"uri": "https://a.example"}, "web_fetch", {"url": "https://a.example"}),
        ("subagent.stop", {"runId": "r"}, "subagents", {"runId": "r", "action": "stop"}),
        ("subagent.send", {"id": "r", "text": "hi"}, "subagents", {"id": "r", "text": "hi", "action": "send"}),
        ("read", {"file": "a"}, "read", {"file": "a"}),
        ("unknown", {"x": 1}, "unknown", {"x": 1}),
    ],
)
def test_a_call_by_an_alias_means_its_tool(
    alias: str, given: dict[str, Any], tool: str, mapped: dict[str, Any]
) -> None:
    assert canonical(alias) == tool
    assert arguments(alias, given) == mapped


def test_an_argument_under_its_own_name_wins_and_broken_ones_stay_as_they_are() -> None:
    assert arguments("read_file", {"path": "a", "file": "b"}) == {"path": "a"}
    assert arguments("shell_start", {RAW_ARGUMENTS: "{"}) == {RAW_ARGUMENTS: "{"}


def test_mapped_arguments_are_those_of_the_tool() -> None:
    tools = {tool.name: tool for tool in builtin_tools()}
    for alias in ALIASES.values():
        if alias.tool in tools:
            known = tools[alias.tool].input_type.model_json_schema()["properties"]
            assert {*alias.renamed.values(), *alias.implied} <= known.keys()


@pytest.mark.parametrize(("rule", "pruned"), [({"deny": ["read_file"]}, False), ({"allow": ["read_file"]}, True)])
def test_a_rule_for_an_alias_is_a_rule_for_its_tool(rule: dict[str, Any], pruned: bool) -> None:
    entries: list[TranscriptEntry] = [user("go"), assistant("", "c0"), result("c0", "x" * 9000)]
    for call in ("c1", "c2", "c3"):
        entries += [assistant("", call), result(call)]
    for number, entry in enumerate(entries):
        entry.timestamp = 1 + number
    settings = ContextPruningSettings.model_validate({"tools": rule})
    after = prune(
        entries,
        settings,
        window=100,
        frame_tokens=0,
        compact_above=80,
        estimate=lambda entry: entry.approx_tokens,
        now_ms=10**9,
    )
    assert (after != entries) is pruned
