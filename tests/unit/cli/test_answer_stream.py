"""What is on stdout at the end of a turn, whatever happened to its workers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import ModelAttempt, Run, RunState
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import FailureReason


def _event(kind: str, **data: Any) -> Event:
    return Event("1-0", kind, 1, 1000, data)


def _say(screen: AnswerStream, *pieces: str) -> None:
    for piece in pieces:
        screen.show(_event("text.delta", text=piece))


def _take_over(screen: AnswerStream) -> None:
    screen.show(_event("run.lost", worker="host/1/a"))
    screen.show(_event("run.started", worker="host/2/b"))


@pytest.fixture
def screen() -> AnswerStream:
    screen = AnswerStream()
    screen.show(_event("run.started", worker="host/1/a"))
    return screen


def test_the_part_that_was_not_streamed_is_added_at_the_end(
    screen: AnswerStream, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "the begin")
    screen.finish("the beginning and the end")

    assert capsys.readouterr().out == "the beginning and the end\n"


def test_a_pipe_gets_a_repeated_answer_only_once(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    _say(screen, "one two ")
    _take_over(screen)
    _say(screen, "one ", "two ", "three")
    screen.finish("one two three four")

    output = capsys.readouterr()
    assert output.out == "one two three four\n"
    assert output.err == "[worker lost, resuming on host/2]\n"


def test_a_pipe_gets_a_different_answer_whole_on_a_new_line(
    screen: AnswerStream, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "one two ")
    _take_over(screen)
    _say(screen, "one", " and a half")
    screen.finish("one and a half")

    assert capsys.readouterr().out == "one two \none and a half\n"


def test_a_shorter_answer_than_the_lost_one_is_printed_whole(
    screen: AnswerStream, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "one two three")
    _take_over(screen)
    screen.finish("one")

    assert capsys.readouterr().out == "one two three\none\n"


def test_a_terminal_shows_the_answer_again_from_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    screen = AnswerStream()
    screen.show(_event("run.started", worker="host/1/a"))
    _say(screen, "one two ")
    _take_over(screen)
    _say(screen, "one ")
    screen.finish("one two three")

    assert capsys.readouterr().out == "one two \none two three\n"


def test_after_a_gap_nothing_is_printed_until_the_whole_text_is_known(
    screen: AnswerStream, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "one ")
    screen.mark_gap()
    _say(screen, "three ")
    screen.finish("one two three four")

    assert capsys.readouterr().out == "one two three four\n"


def test_text_before_a_tool_call_is_on_its_own_line(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    _say(screen, "Looking.")
    screen.show(_event("tool.started", call="c", tool="exec"))
    screen.show(_event("tool.output", call="c", line="some output\n"))
    screen.show(Event("2-0", "tool.ended", 2, 3000, {"call": "c", "tool": "exec", "error": False}))
    screen.finish("Seen.")

    output = capsys.readouterr()
    assert output.out == "Looking.\nSeen.\n"
    assert output.err.splitlines() == ["· exec ...", "·   some output", "· exec done (2.0s)"]


def test_with_json_only_the_result_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    screen = AnswerStream(is_quiet=True)
    screen.show(_event("run.started", worker="host/1/a"))
    _say(screen, "one")
    screen.show(_event("tool.started", call="c", tool="exec"))
    screen.note("Redis is back")
    screen.finish("one")

    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "[Redis is back]\n")


def test_each_event_of_a_sub_agent_is_one_line(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    spawned = {"run": "run-1", "label": "read"}
    screen.show(_event("tool.started", tool="sessions_spawn", call="c1", brief="read"))
    screen.show(_event("subagent.spawned", **spawned))
    screen.show(_event("tool.ended", tool="sessions_spawn", call="c1"))
    screen.show(_event("subagent.started", **spawned, worker="host/3/c"))
    screen.show(_event("subagent.failed", **spawned, state="timeout", error="too\nslow"))
    results = [{"run": "run-1", "label": "read", "status": "timeout"}, {"run": "run-2", "label": "", "status": "ok"}]
    screen.show(_event("subagent.announced", batch="batch-1", how="delivered", runs=results))
    for how in ("none", "archived", "new-fangled"):
        screen.show(_event("subagent.announced", batch="batch-1", how=how, runs=results[:1]))
    screen.show(_event("subagent.discarded", batch="batch-1", reason="session-reset", runs=results))
    screen.show(_event("subagent.unheard-of", run="run-1"))

    assert capsys.readouterr().err.splitlines() == [
        "· sub-agent spawned: read",
        "· sub-agent started: read on host/3",
        "· sub-agent timeout: read – too slow",
        "· sub-agents reported: read timeout, run-2 ok",
        "· sub-agent ended: read timeout (the parent asked for no announce)",
        "· sub-agent ended: read timeout (the session was reset; the result is in its archive)",
        "· sub-agent ended: read timeout (new-fangled)",
        "· sub-agents ended: read timeout, run-2 ok (the session was reset; the result is in its archive)",
    ]


def test_a_failed_spawn_is_shown_like_any_failed_tool(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    screen.show(_event("tool.started", tool="sessions_spawn", call="c1", brief="read"))
    screen.show(_event("tool.ended", tool="sessions_spawn", call="c1", error=True))
    assert capsys.readouterr().err == "· sessions_spawn failed (0ms)\n"


def test_a_child_that_was_parked_resumes_without_a_note_about_workers(
    screen: AnswerStream, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(screen, "waiting")
    screen.show(_event("run.parked", text="waiting", batches=1))
    screen.show(_event("run.started", worker="host/2/b"))
    _say(screen, "done")
    screen.finish("done")

    output = capsys.readouterr()
    assert output.out == "waiting\ndone\n"
    assert "resuming" not in output.err


def test_a_run_that_waits_for_a_person_says_what_for(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    screen.show(_event("question.asked", id="q-1", text="not listed", command="rm -r  build"))
    screen.show(_event("run.parked", waits_for="q-1"))
    screen.show(_event("run.parked", waits_for="msg-1"))

    assert capsys.readouterr().err.splitlines() == [
        "· waiting for a person: rm -r build (`ocw approvals list` shows how to answer)",
        "· waiting for other sessions",
    ]


def test_a_silent_reply_prints_nothing(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    screen.finish("")
    assert capsys.readouterr().out == ""


def test_text_that_a_child_streams_is_shown_line_by_line(
    screen: AnswerStream, capsys: pytest.CaptureFixture[str]
) -> None:
    about = {"run": "run-1", "label": "read"}
    screen.show(_event("subagent.delta", **about, text="one\ntw"))
    screen.show(_event("subagent.delta", **about, text="o"))
    screen.show(_event("subagent.tool", **about, phase="started", tool="exec", brief="ls"))
    screen.show(_event("subagent.tool", **about, phase="ended", tool="exec"))
    screen.show(_event("subagent.delta", **about, text="three"))
    screen.finish("")

    assert capsys.readouterr().err.splitlines() == [
        "· read: one",
        "· read: two",
        "· read: exec ls ...",
        "· read: three",
    ]


@pytest.mark.parametrize(
    ("verbose", "lines"),
    [
        ("off", []),
        ("on", ["· exec ls ...", "·   a line", "· exec done (0ms)"]),
    ],
)
def test_tools_are_shown_at_the_sessions_verbose_level(
    capsys: pytest.CaptureFixture[str], verbose: str, lines: list[str]
) -> None:
    screen = AnswerStream(verbose=verbose)
    _say(screen, "Looking.")
    screen.show(_event("tool.started", call="c", tool="exec", brief="ls"))
    screen.show(_event("tool.output", call="c", line="a line"))
    screen.show(_event("tool.ended", call="c", tool="exec", error=False))
    screen.finish("Seen.")

    output = capsys.readouterr()
    assert output.out == "Looking.\nSeen.\n"
    assert output.err.splitlines() == lines


def test_a_tool_result_is_shown_if_the_event_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    screen = AnswerStream(verbose="full")
    screen.show(_event("tool.ended", call="c", tool="exec", error=False, result="one\n\x1b[2Jtwo"))

    assert capsys.readouterr().err.splitlines() == ["· exec done (0ms)", "·   one", "·   two"]


def test_reasoning_is_shown_line_by_line_and_is_not_part_of_the_answer(
    screen: AnswerStream, capsys: pytest.CaptureFixture[str]
) -> None:
    screen.show(_event("thinking.delta", text="first "))
    screen.show(_event("thinking.delta", text="this\nthen"))
    _say(screen, "So.")
    screen.finish("So.")

    output = capsys.readouterr()
    assert output.out == "So.\n"
    assert output.err.splitlines() == ["· thinks: first this", "· thinks: then"]


RUN = Run(
    id=RunId("run-1"),
    session_key=SessionKey("agent:main:main"),
    state=RunState.OK,
    model="b/two",
    usage=Usage(input=1200, output=30, cache_read=5),
    cost=0.01234,
    started_at=1_000,
    ended_at=3_500,
)


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        ("off", ""),
        ("tokens", "· 1,200 tokens in, 30 out, cache 5 read, 0 written\n"),
        ("full", "· 1,200 tokens in, 30 out, cache 5 read, 0 written, $0.0123, b/two, 2.5 s\n"),
    ],
)
def test_usage_is_shown_at_the_sessions_usage_level(capsys: pytest.CaptureFixture[str], usage: str, line: str) -> None:
    AnswerStream(usage=usage).show_cost(RUN)
    assert capsys.readouterr().err == line


def test_a_run_without_model_calls_shows_no_usage(capsys: pytest.CaptureFixture[str]) -> None:
    AnswerStream(usage="full").show_cost(RUN.model_copy(update={"usage": Usage()}))
    assert capsys.readouterr().err == ""


def test_a_fallback_is_shown(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    failed = ModelAttempt(model="a/one", reason=FailureReason.RATE_LIMIT)
    screen.show_cost(RUN.model_copy(update={"model_attempts": [failed]}))
    assert capsys.readouterr().err == "· a/one failed (rate_limit); b/two answered instead\n"


def test_a_cut_answer_is_marked(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    screen.show_cost(RUN.model_copy(update={"reason": "length"}))
    assert capsys.readouterr().err == "· the answer is cut here: b/two reached its output limit (maxTokens)\n"


def test_the_reason_for_waiting_is_shown(screen: AnswerStream, capsys: pytest.CaptureFixture[str]) -> None:
    screen.show(_event("model.waiting", why="the limits set for a/one are reached"))
    assert capsys.readouterr().err == "[waiting: the limits set for a/one are reached]\n"
