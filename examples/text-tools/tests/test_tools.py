"""Tests of the plugin, as its author writes them: no Redis, no worker, no model."""

from __future__ import annotations

from pathlib import Path

from text_tools import tools

from openclaw_workers.testing import call, run_tool, run_turn


def test_a_tool_is_still_a_function() -> None:
    assert tools.count_words("to be or not to be") == {"to": 2, "be": 2, "or": 1, "not": 1}


def test_a_model_gets_json() -> None:
    result = run_tool(tools.count_words, {"text": "a b a", "most": 1})

    assert (result.text, result.failed) == ('{"a":2}', False)


def test_a_wrong_argument_is_answered_with_what_was_expected() -> None:
    result = run_tool(tools.count_words, {"text": "a", "most": 0})

    assert result.failed
    assert "most: Input should be greater than or equal to 1" in result.text


def test_a_file_is_written_to_the_workspace(tmp_path: Path) -> None:
    result = run_tool(tools.save_note, {"title": "milk", "text": "buy some"}, workspace=tmp_path)

    assert (tmp_path / "notes" / "milk.md").read_text() == "buy some"
    assert list(result.progress) == ["saving milk"]


def test_a_failure_is_asked_to_the_model() -> None:
    result = run_tool(tools.save_note, {"title": "../x", "text": ""})

    assert (result.failed, result.text) == (True, "'../x' is not a title: expected words without slashes")


def test_an_async_tool_ends_in_time() -> None:
    assert run_tool(tools.wait_a_little, {"seconds": 1, "unit": "ms"}).text == "done"
    assert run_tool(tools.wait_a_little, {"seconds": 60}, timeout_seconds=0.2).failed


def test_an_agent_uses_the_tools_in_a_turn() -> None:
    turn = run_turn(
        call("count_words", text="a b a"),
        [call("draw_square", red=255, green=0, blue=0), call("save_note", title="x", text="y")],
        "finished",
        tools=tools,
    )

    counted, drawn, saved = turn.results
    assert counted.text == '{"a":2,"b":1}'
    assert [file.mime_type for file in drawn.files] == ["image/png"]
    assert saved.text == "saved notes/x.md"
    assert turn.reply == "finished"
