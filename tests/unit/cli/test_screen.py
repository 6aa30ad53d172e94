"""What stands on stdout when a turn is over, whatever happened to its workers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from openclaw_workers.cli.screen import Screen
from openclaw_workers.store.reading import Event


def _event(kind: str, **data: Any) -> Event:
    return Event("1-0", kind, 1, 1000, data)


def _say(screen: Screen, *pieces: str) -> None:
    for piece in pieces:
        screen.show(_event("text.delta", text=piece))


def _take_over(screen: Screen) -> None:
    screen.show(_event("run.lost", worker="host/1/a"))
    screen.show(_event("run.started", worker="host/2/b"))


@pytest.fixture
def screen() -> Screen:
    screen = Screen()
    screen.show(_event("run.started", worker="host/1/a"))
    return screen


def test_the_part_that_was_not_streamed_is_added_at_the_end(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    _say(screen, "the begin")
    screen.finish("the beginning and the end")

    assert capsys.readouterr().out == "the beginning and the end\n"


def test_a_pipe_gets_an_answer_that_is_said_again_only_once(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    _say(screen, "one two ")
    _take_over(screen)
    _say(screen, "one ", "two ", "three")
    screen.finish("one two three four")

    told = capsys.readouterr()
    assert told.out == "one two three four\n"
    assert told.err == "[worker lost, resuming on host/2]\n"


def test_a_pipe_gets_another_answer_whole_on_a_line_of_its_own(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "one two ")
    _take_over(screen)
    _say(screen, "one", " and a half")
    screen.finish("one and a half")

    assert capsys.readouterr().out == "one two \none and a half\n"


def test_a_shorter_answer_than_the_lost_one_is_printed_whole(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "one two three")
    _take_over(screen)
    screen.finish("one")

    assert capsys.readouterr().out == "one two three\none\n"


def test_a_terminal_begins_the_answer_anew(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    screen = Screen()
    screen.show(_event("run.started", worker="host/1/a"))
    _say(screen, "one two ")
    _take_over(screen)
    _say(screen, "one ")
    screen.finish("one two three")

    assert capsys.readouterr().out == "one two \none two three\n"


def test_after_a_gap_nothing_is_printed_until_the_text_is_known_whole(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "one ")
    screen.miss()
    _say(screen, "three ")
    screen.finish("one two three four")

    assert capsys.readouterr().out == "one two three four\n"


def test_what_is_said_before_a_tool_call_stands_on_its_own_line(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "Looking.")
    screen.show(_event("tool.started", call="c", tool="exec"))
    screen.show(_event("tool.output", call="c", line="some output\n"))
    screen.show(Event("2-0", "tool.ended", 2, 3000, {"call": "c", "tool": "exec", "error": False}))
    screen.finish("Seen.")

    told = capsys.readouterr()
    assert told.out == "Looking.\nSeen.\n"
    assert told.err.splitlines() == ["· exec ...", "·   some output", "· exec done (2.0s)"]


def test_a_program_reads_nothing_but_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(is_quiet=True)
    screen.show(_event("run.started", worker="host/1/a"))
    _say(screen, "one")
    screen.show(_event("tool.started", call="c", tool="exec"))
    screen.note("Redis is back")
    screen.finish("one")

    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "[Redis is back]\n")
