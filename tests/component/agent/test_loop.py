"""The agent loop with real tools and the offline model, writing into a journal in memory."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.context.history import repair
from openclaw_workers.agent.prompt.texts import WORKER_DIED_DURING_CALL
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    Usage,
)
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.errors import FailureReason, LeaseLost, ProviderError, TurnAborted, TurnHandedOver
from openclaw_workers.providers.base import Answer, ModelRequest, Provider, StreamEvent, TextDelta, UsageSoFar
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.files.read import Read, ReadInput
from tests.support.agent_loop import MakeLoop, MemoryJournal, calling, calls, cancel, journal, make_loop, program, user
from tests.support.waiting import eventually

__all__ = ["cancel", "journal", "make_loop"]


def test_a_plain_answer_is_streamed_and_returned_for_the_commit(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    loop = make_loop(program({"text": "hello there"}))

    answer = loop.run()

    assert (answer.text, answer.stop_reason, answer.run_id) == ("hello there", "stop", "run-1")
    assert (answer.provider, answer.api, answer.model) == ("offline", "offline", "script")
    assert journal.streamed == "hello there"
    assert journal.entries == [], "the final answer is the commit's to write"
    assert answer.usage.input == journal.noted_input(recorded=True) > 0
    assert journal.noted_input(recorded=False) == 0


def test_calls_are_recorded_before_they_run_and_results_as_they_come(
    make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path
) -> None:
    steps = [
        calls(("write", {"path": "a.txt", "content": "one"}), ("read", {"path": "a.txt"}), text="Working."),
        calls(("exec", {"command": "cat a.txt"})),
        {"text": "done it"},
    ]

    answer = make_loop(program(*steps)).run()

    assert answer.text == "done it"
    assert [entry.role for entry in journal.entries] == [
        *("assistant", "toolResult", "toolResult"),
        *("assistant", "toolResult"),
    ]
    first, second = (entry for entry in journal.entries if isinstance(entry, AssistantEntry))
    one, two = (call.id for call in first.tool_calls)
    (three,) = (call.id for call in second.tool_calls)
    assert journal.started == [one, two, "", three, ""], "each step marks the call that starts next"
    assert [result.content[0].text for result in journal.results()][1:] == [
        wrap("one", "tool read"),
        wrap("one\n[exit code 0]", "tool exec"),
    ]
    assert (tmp_path / "a.txt").read_text() == "one"
    assert [kind for kind, _ in journal.shown if kind.startswith("tool.")] == [
        *("tool.started", "tool.ended") * 2,
        *("tool.started", "tool.output", "tool.ended"),
    ]
    assert repair(journal.entries) == journal.entries


def test_the_usage_of_every_call_is_reported_once(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    loop = make_loop(program(calls(("read", {"path": "none"})), {"text": "done"}))

    answer = loop.run()

    said = [entry.usage for entry in journal.entries if isinstance(entry, AssistantEntry)]
    assert [call.usage for call in journal.noted] == [said[0], answer.usage]
    assert answer.usage.total > 0


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("read", {"path": "missing.txt"}, "missing.txt"),
        ("read", {"pth": "x"}, "read was called with wrong arguments"),
        ("fly", {}, "there is no tool 'fly'; you have agents_list, apply_patch"),
    ],
)
def test_a_failed_call_is_reported_to_the_model_and_the_turn_continues(
    make_loop: MakeLoop, journal: MemoryJournal, name: str, given: dict[str, Any], message: str
) -> None:
    assert make_loop(program(calls((name, given)), {"text": "I see"})).run().text == "I see"

    (result,) = journal.results()
    assert result.is_error
    assert message in result.content[0].text


def test_a_crashed_tool_is_reported_to_the_model_too(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    class Broken(Read):
        def run(self, args: ReadInput, ctx: ToolContext) -> str:
            raise RuntimeError("a bug")

    loop = make_loop(program(calls(("read", {"path": "x"})), {"text": "oh"}), tools={"read": Broken()})

    assert loop.run().text == "oh"
    assert journal.results()[0].content[0].text == "read failed unexpectedly: RuntimeError: a bug"


@pytest.mark.parametrize(("alias", "given"), [("shell", {"command": "echo hi"}), ("read_file", {"path": "x"})])
def test_tools_are_called_by_their_aliases_too(
    make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path, alias: str, given: dict[str, Any]
) -> None:
    (tmp_path / "x").write_text("hi")

    make_loop(program(calls((alias, given)))).run()

    assert not journal.results()[0].is_error
    assert journal.results()[0].tool_name == alias, "a result is named as the call was"


# Resuming: what an earlier owner left open


def test_a_read_left_open_is_called_again(make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("content")
    history = [program({}, {"text": "read it"}), calling(("read", {"path": "x"}))]

    assert make_loop(*history, started_call="call-0").run().text == "read it"

    assert [result.content[0].text for result in journal.results()] == [wrap("content", "tool read")]


def test_a_write_left_open_is_called_again_with_the_same_id(
    make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path
) -> None:
    history = [program({}, {"text": "wrote it"}), calling(("write", {"path": "x", "content": "whole"}))]
    (tmp_path / "x").write_text("whole")

    make_loop(*history, started_call="call-0").run()

    (result,) = journal.results()
    assert (result.tool_call_id, result.is_error) == ("call-0", False)
    assert (tmp_path / "x").read_text() == "whole"


@pytest.mark.parametrize("name", ["exec", "shell"])
def test_an_interrupted_command_is_not_run_again_but_reported_as_interrupted(
    make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path, name: str
) -> None:
    history = [program({}, {"text": "I will look"}), calling((name, {"command": "echo run >> ran"}))]

    assert make_loop(*history, started_call="call-0").run().text == "I will look"

    (result,) = journal.results()
    assert (result.content[0].text, result.is_error) == (WORKER_DIED_DURING_CALL, True)
    assert not (tmp_path / "ran").exists()


def test_of_several_open_commands_only_the_started_one_is_interrupted(
    make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path
) -> None:
    run = ("exec", {"command": "echo run >> ran"})
    open_calls = calling(run, run, run)
    finished = ToolResultEntry(tool_call_id="call-0", tool_name="exec", content=[TextBlock(text="ok")])

    make_loop(program({}, {"text": "done"}), open_calls, finished, started_call="call-1").run()

    assert [(r.tool_call_id, r.is_error) for r in journal.results()] == [("call-1", True), ("call-2", False)]
    assert (tmp_path / "ran").read_text() == "run\n", "the finished one is not run again either"
    assert journal.started == ["call-2", ""]


def test_a_call_handed_over_before_it_started_is_marked_before_it_runs(
    make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path
) -> None:
    """If its next owner dies during the call, the one after must not run it again."""
    history = [program({}, {"text": "done"}), calling(("exec", {"command": "echo run >> ran"}))]

    make_loop(*history, started_call="").run()

    assert journal.started == ["call-0", ""]
    assert (tmp_path / "ran").read_text() == "run\n"


def test_a_turn_that_was_already_marked_is_not_marked_again(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    history = [program({}, {"text": "done"}), calling(("read", {"path": "x"}))]

    make_loop(*history, started_call="call-0").run()

    assert journal.started == [""]


def test_steered_messages_an_earlier_owner_missed_are_read_before_the_model_call(
    make_loop: MakeLoop, journal: MemoryJournal
) -> None:
    journal.steer = [program({"text": "hurried"}).content[0].text]

    assert make_loop(program({"text": "slow"}), steering_waits=True).run().text == "hurried"


def test_open_calls_are_finished_before_the_message_is_read(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    journal.steer = [program({"text": "hurried"}).content[0].text]
    history = [program({}, {"text": "slow"}), calling(("read", {"path": "x"}))]

    assert make_loop(*history, started_call="call-0", steering_waits=True).run().text == "hurried"
    assert [entry.role for entry in journal.entries] == ["toolResult", "user"]
    assert journal.started == [""], "in the one step"


def test_without_a_message_nothing_is_written_before_the_model_call(
    make_loop: MakeLoop, journal: MemoryJournal
) -> None:
    make_loop(program({"text": "done"})).run()

    assert journal.started == []


def test_calls_of_an_older_message_are_not_run(make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path) -> None:
    """Damage may have left a call without result long ago; only the last message's calls are still open."""
    old = calling(("exec", {"command": "echo run >> ran"}))

    loop = make_loop(user("before"), old, AssistantEntry(content=[TextBlock(text="x")]), program({"text": "new"}))

    assert loop.run().text == "new"
    assert not (tmp_path / "ran").exists()
    assert journal.entries == []


# Steering


def test_steered_messages_join_before_the_next_model_call(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    journal.steer = [json.dumps({"steps": [{"text": "steered answer"}]})]
    read = ("read", {"path": "x"})

    answer = make_loop(program(calls(read, read), {"text": "unsteered answer"})).run()

    assert answer.text == "steered answer"
    assert [entry.role for entry in journal.entries] == ["assistant", "toolResult", "toolResult", "user"]


# Failing calls


@pytest.mark.parametrize("reason", ["cut", "timeout", "rate_limit"])
def test_a_transient_failure_is_retried(make_loop: MakeLoop, journal: MemoryJournal, reason: str) -> None:
    loop = make_loop(program({"fail": reason, "text": "half an answer"}, {"text": "whole answer"}))

    assert loop.run().text == "whole answer"
    assert [data["reason"] for kind, data in journal.shown if kind == "model.retried"] == [reason]
    assert journal.noted_input(recorded=False) > 0, "the tokens of the failed call were spent"


def test_a_failure_is_retried_twice_and_no_more(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    loop = make_loop(program({"fail": "cut"}, {"fail": "cut"}, {"fail": "cut"}, {"text": "never"}))

    with pytest.raises(ProviderError) as failed:
        loop.run()
    assert failed.value.reason is FailureReason.CUT
    assert len([kind for kind, _ in journal.shown if kind == "model.retried"]) == 2
    assert journal.noted_input(recorded=False) > 0


@pytest.mark.parametrize("reason", ["auth", "billing", "format", "context_overflow", "model_not_found"])
def test_a_permanent_failure_is_not_retried(make_loop: MakeLoop, journal: MemoryJournal, reason: str) -> None:
    with pytest.raises(ProviderError) as failed:
        make_loop(program({"fail": reason}, {"text": "never"})).run()
    assert failed.value.reason == reason
    assert journal.shown == []


def test_a_turn_that_never_answers_is_ended_after_its_model_calls(make_loop: MakeLoop) -> None:
    step = calls(("read", {"path": "x"}))

    with pytest.raises(ProviderError, match="ended after 3 model calls") as failed:
        make_loop(program(*[step] * 10), max_model_calls=3).run()
    assert failed.value.hint is not None
    assert "maxSteps" in failed.value.hint


class Halting(Provider):
    """Streams some text, then raises the next failure; after the last failure it answers."""

    name, api = "halting", "test"

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self.requests: list[ModelRequest] = []

    def context_window(self, model: str) -> int:
        return 1_000

    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        self.requests.append(request)
        yield UsageSoFar(Usage(input=10))
        yield TextDelta("half ")
        if self._failures:
            raise self._failures.pop(0)
        yield TextDelta("whole")
        yield Answer([TextBlock(text="half whole")], Usage(input=10, output=2))


def test_the_text_of_a_failed_call_is_not_mixed_into_the_next(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    provider = Halting(ProviderError("reset", reason=FailureReason.TIMEOUT), TurnAborted("killed"))
    loop = make_loop(user("hi"), provider=provider)

    with pytest.raises(TurnAborted):
        loop.run()

    assert loop.partial == "half"
    assert journal.noted_input(recorded=False) == 20


def test_the_model_sees_what_fits_the_smaller_of_its_window_and_the_agents_limit(make_loop: MakeLoop) -> None:
    history = [user("a" * 400), AssistantEntry(content=[TextBlock(text="b" * 400)]), user("c" * 400)]
    seen = []
    for context_tokens in (None, 200):
        provider = Halting()
        make_loop(*history, provider=provider, context_tokens=context_tokens).run()
        seen.append(len(provider.requests[0].messages))

    assert seen == [3, 1]


# Stopping


def stop_when(fact: Callable[[], bool], cancel: Cancel) -> list[float]:
    """Stop the turn from another thread once a condition holds; returns when that was."""
    stopped: list[float] = []

    def watch() -> None:
        eventually(fact, within=20)
        stopped.append(time.monotonic())
        cancel.set(TurnAborted("killed"))

    threading.Thread(target=watch, daemon=True).start()
    return stopped


def test_a_stop_ends_a_long_model_call_and_keeps_what_was_said(
    make_loop: MakeLoop, journal: MemoryJournal, cancel: Cancel
) -> None:
    loop = make_loop(program({"text": "one two three", "chunks": 3, "chunkDelayMs": 60_000}))
    stopped = stop_when(lambda: bool(journal.streamed), cancel)

    with pytest.raises(TurnAborted):
        loop.run()

    assert time.monotonic() - stopped[0] < 2
    assert loop.partial == journal.streamed
    assert journal.noted_input(recorded=False) > 0, "the abandoned call is counted"


def test_a_stop_ends_a_long_command(
    make_loop: MakeLoop, journal: MemoryJournal, cancel: Cancel, tmp_path: Path
) -> None:
    loop = make_loop(program(calls(("exec", {"command": "touch begun; sleep 60"})), {"text": "never"}))
    stopped = stop_when((tmp_path / "begun").exists, cancel)

    with pytest.raises(TurnAborted):
        loop.run()

    assert time.monotonic() - stopped[0] < 2
    assert journal.results() == []


def test_a_stop_ends_the_pause_before_a_retry(make_loop: MakeLoop, journal: MemoryJournal, cancel: Cancel) -> None:
    stopped = stop_when(lambda: bool(journal.shown), cancel)

    with pytest.raises(TurnAborted):
        make_loop(program({"fail": "cut", "text": "half"}, {"delayMs": 60_000})).run()
    assert time.monotonic() - stopped[0] < 2


def test_nothing_starts_in_a_stopped_turn(make_loop: MakeLoop, journal: MemoryJournal, cancel: Cancel) -> None:
    cancel.set(TurnAborted("killed"))

    with pytest.raises(TurnAborted):
        make_loop(program({"text": "never"})).run()
    assert (journal.streamed, journal.entries) == ("", [])


@pytest.mark.parametrize("error", [TurnHandedOver("leaving"), TurnAborted("killed"), LeaseLost("owned elsewhere")])
def test_when_the_journal_ends_the_turn_no_call_is_run(
    make_loop: MakeLoop, journal: MemoryJournal, tmp_path: Path, error: Exception
) -> None:
    journal.fail_at = {1: error}
    loop = make_loop(program(calls(("exec", {"command": "touch ran"})), {"text": "never"}))

    with pytest.raises(type(error)):
        loop.run()

    assert not (tmp_path / "ran").exists()
    assert loop.history[-1].role == "assistant", "its calls are known, to be closed or handed over"


ASKED = ToolCallBlock(id="skill-run-1", name="exec", arguments={"command": "echo ran >> ran.txt; echo done"})


def test_a_call_that_a_person_asked_for_is_the_answer(make_loop: MakeLoop, journal: MemoryJournal) -> None:
    answer = make_loop(user("/run")).call_tool(ASKED)

    assert answer.text.startswith("done\n")
    assert [entry.role for entry in journal.entries] == ["assistant", "toolResult"]


def test_a_call_that_a_person_asked_for_is_not_made_again_by_the_next_owner(
    make_loop: MakeLoop, tmp_path: Path
) -> None:
    asked = AssistantEntry(content=[ASKED], stop_reason="toolUse")
    result = ToolResultEntry(tool_call_id=ASKED.id, tool_name="exec", content=[TextBlock(text="done before")])

    assert make_loop(user("/run"), asked, result).call_tool(ASKED).text == "done before"
    interrupted = make_loop(user("/run"), asked, started_call=ASKED.id).call_tool(ASKED)
    assert "died before its result was recorded" in interrupted.text
    assert not (tmp_path / "ran.txt").exists()
