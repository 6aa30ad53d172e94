"""Parts of the MCP client that need no server."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from openclaw_workers.config.mcp import McpSettings
from openclaw_workers.tools.mcp.failures import failure_text
from openclaw_workers.tools.mcp.flood_guard import LINES_PER_WINDOW, Flooded, FloodGuard
from openclaw_workers.tools.mcp.names import tool_name
from openclaw_workers.tools.mcp.results import MOST_FILES, answer_blocks
from openclaw_workers.tools.mcp.server_health import ServerState


def test_names_fit_every_api_and_differ() -> None:
    assert tool_name("s", "read") == "s__read"
    assert tool_name("s", "read file/now") == "s__read_file_now"
    long, other = tool_name("s", "x" * 100), tool_name("s", "x" * 101)
    assert (len(long), len(other), long != other) == (64, 64, True)
    assert tool_name("s", "a.b", ["s__a_b"]).startswith("s__a_b_")


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ({}, "expected either command or url"),
        ({"command": "x", "url": "http://x"}, "expected either command or url"),
        ({"url": "http://x", "args": ["a"]}, "only with command"),
        ({"command": "x", "headers": {"a": "b"}}, "only with url"),
        ({"url": "ftp://x"}, "starts with http"),
    ],
)
def test_a_server_is_a_program_or_an_address(server: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        McpSettings.model_validate({"servers": {"s": server}})


@pytest.mark.parametrize("name", ["a__b", "_a", "a_", "A", "a b", "", "x" * 33])
def test_names_of_servers_are_part_of_tool_names(name: str) -> None:
    with pytest.raises(ValidationError):
        McpSettings.model_validate({"servers": {name: {"command": "x"}}})


def test_a_flood_is_one_large_message_or_many_in_a_short_time() -> None:
    now = [0.0]
    guard = FloodGuard(100, clock=lambda: now[0])
    guard.check_message(100)
    with pytest.raises(Flooded, match="more than 100 bytes"):
        guard.check_message(101)
    guard.add(800)
    now[0] = 10
    guard.add(800, LINES_PER_WINDOW)
    with pytest.raises(Flooded, match="within 10 seconds"):
        guard.add(0, 1)
    now[0] = 20
    guard.add(0, 1)


def item(kind: str, **fields: Any) -> SimpleNamespace:
    return SimpleNamespace(type=kind, **fields)


def test_every_kind_of_content_is_shown(tmp_path: Path) -> None:
    content = [
        item("text", text="one"),
        item("resource", resource=SimpleNamespace(uri="file:///a", text="two")),
        item("resource_link", name="three", uri="https://x", description="about it"),
        item("image", data="not base64!", mime_type="image/png"),
        item("resource", resource=SimpleNamespace(uri="file:///b", blob="aGk=", mime_type="application/pdf")),
        item("video"),
    ]

    blocks = answer_blocks(SimpleNamespace(content=content), tmp_path, "t")

    assert [getattr(block, "text", "") for block in blocks if block.type == "text"] == [
        "one",
        "[file:///a]\ntwo",
        "[three https://x: about it]",
        "[a file of type image/png could not be decoded]",
        "[content of type video]",
    ]
    assert [block.type for block in blocks].count("file") == 1


def test_structured_content_is_shown_where_there_is_no_text(tmp_path: Path) -> None:
    only = SimpleNamespace(content=[], structured_content={"a": 1})
    nothing = SimpleNamespace(content=[], structured_content=None)
    files = SimpleNamespace(content=[item("audio", data="aGk=", mime_type="audio/wav")] * (MOST_FILES + 1))

    assert [block.text for block in answer_blocks(only, tmp_path, "t")] == ['{"a": 1}']
    assert [block.text for block in answer_blocks(nothing, tmp_path, "t")] == ["(the tool returned nothing)"]
    assert answer_blocks(files, tmp_path, "t")[-1].text == "[a further file of type audio/wav is left out]"


def test_tools_stay_for_two_failures_and_return_with_the_server() -> None:
    state, tools = ServerState("s"), (object(),)
    state.ready(tools, left_out=0, server="")  # type: ignore[arg-type]
    for shown in (tools, tools, ()):
        state.lost("gone")
        assert state.tools == shown
    state.ready(tools, left_out=0, server="")  # type: ignore[arg-type]
    assert (state.tools, state.problem, state.failures) == (tools, "", 3)
    state.proven()
    state.lost("again")
    assert (state.tools, state.failures) == (tools, 1)


def test_a_failure_is_one_line_without_secrets() -> None:
    group = ExceptionGroup("many", [ExceptionGroup("inner", [ValueError("bad\nkey-12345")]), OSError("x")])

    assert failure_text(group, ["key-12345", "bad"]) == "bad ***"
    assert failure_text(RuntimeError()) == "RuntimeError"
