"""A background command from a turn to the turn that its end opens."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.transcript import ToolResultEntry, UserEntry
from openclaw_workers.tools.shell.background_commands import CommandDirectory, HeldCommand
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.model_turns import ask
from tests.component.engine.test_turn_runner import execute, program
from tests.support.waiting import eventually


def start(engine: EngineHarness, command: str, **more: Any) -> HeldCommand:
    """Let a turn start a command in the background."""
    call = execute(command)
    call["calls"][0]["input"] |= {"background": True, **more}
    ask(engine, program(call, {"text": "started"}))
    (held,) = commands_of(engine).all(SESSION)
    return held


def commands_of(engine: EngineHarness) -> CommandDirectory:
    return engine.built.commands


def report(engine: EngineHarness) -> int:
    """Wait for the end of a command, report it, and carry the turns that come of it; return how many."""
    eventually(lambda: commands_of(engine).finished(), within=30)
    engine.built.finished_commands.report()
    return engine.work()


def last_message(engine: EngineHarness) -> str:
    said = [entry for entry in engine.log() if isinstance(entry, UserEntry)][-1]
    return "".join(getattr(block, "text", "") for block in said.content)


def test_the_end_of_a_background_command_wakes_its_session_at_once(make_engine: MakeEngine) -> None:
    engine = make_engine()
    held = start(engine, "sleep 0.5; echo built; exit 3")
    assert held.info.authority == Authority.OWNER
    assert report(engine) == 1
    reported = last_message(engine)
    assert f"Background command {held.info.id} has ended: exit code 3." in reported
    assert "Command: sleep 0.5; echo built; exit 3" in reported
    assert "Last output:\nbuilt" in reported
    engine.built.finished_commands.report()
    assert engine.work() == 0


def test_success_without_output_wakes_nobody(make_engine: MakeEngine) -> None:
    engine = make_engine()
    start(engine, "sleep 0.5")
    assert report(engine) == 0
    assert commands_of(engine).finished() == []


def test_reports_can_be_turned_off(make_engine: MakeEngine) -> None:
    engine = make_engine({"tools": {"exec": {"notifyOnExit": False}}})
    held = start(engine, "sleep 0.5; echo hi")
    eventually(held.exit, within=30)
    assert commands_of(engine).finished() == []


def test_an_end_that_no_worker_saw_is_reported_by_the_next(make_engine: MakeEngine) -> None:
    engine = make_engine()
    held = start(engine, "sleep 0.5; echo done")
    eventually(lambda: commands_of(engine).finished(), within=30)
    other = make_engine()
    other.built.finished_commands.report()
    assert other.work() == 1
    assert f"Background command {held.info.id} has ended: exit code 0." in last_message(other)
    engine.built.finished_commands.report()
    assert engine.work() == 0


def test_how_long_a_call_waits_and_output_is_kept_are_settings(make_engine: MakeEngine) -> None:
    engine = make_engine({"tools": {"exec": {"backgroundMs": 10, "cleanupMs": 60_000}}})
    ask(engine, program(execute("sleep 1000"), {"text": "started"}))
    (held,) = commands_of(engine).all(SESSION)
    assert held.info.keep_ms == 60_000
    result = next(entry for entry in engine.log() if isinstance(entry, ToolResultEntry))
    assert "still running in the background" in result.content[0].text
    held.kill()


@pytest.mark.parametrize("name", ["shell_start", "exec"])
def test_the_names_of_miniclaw_reach_background_commands(make_engine: MakeEngine, name: str) -> None:
    engine = make_engine()
    background = {} if name == "shell_start" else {"background": True}
    start_call = {"calls": [{"tool": name, "input": {"command": "echo hi; sleep 1000", **background}}]}
    ask(engine, program(start_call, {"text": "started"}))
    (held,) = commands_of(engine).all(SESSION)
    eventually(lambda: held.output().read() == b"hi\n", within=30)
    status = {"calls": [{"tool": "shell_status", "input": {"shell_id": held.info.id}}]}
    kill = {"calls": [{"tool": "shell_kill", "input": {"job_id": held.info.id}}]}
    ask(engine, program(status, kill, {"text": "done"}))
    texts = [entry.content[0].text for entry in engine.log() if isinstance(entry, ToolResultEntry)]
    assert "hi\n" in texts[-3] + texts[-2]
    assert "[running]" in texts[-2]
    assert texts[-1] == f"Ended {held.info.id} and all it started."
