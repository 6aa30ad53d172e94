"""A background command belongs to its place, not to the worker that started it."""

from __future__ import annotations

import re

from openclaw_workers.domain.transcript import ToolResultEntry
from tests.support.fleet import Fleet
from tests.support.programs import call, execute, program, say
from tests.support.waiting import eventually

COUNTS = "echo begun; until test -e go; do sleep 0.05; done; echo counted to ten; exit 4"


def test_a_background_command_outlives_its_worker_and_is_polled_from_another(fleet: Fleet) -> None:
    first = fleet.worker()
    started = execute(COUNTS)
    started["input"]["background"] = True
    fleet.outcome(fleet.send(program(call(started), say("started"))))
    command = re.search(r"[a-z]+-[a-z]+|\b[0-9a-f]{8,}\b", _last_result(fleet))
    assert command is not None, _last_result(fleet)

    first.kill()
    fleet.worker()
    fleet.outcome(fleet.send(_process("poll", command[0])))
    assert "[running]" in _last_result(fleet)

    (fleet.workspace / "go").touch()
    eventually(lambda: "exit code 4" in str(fleet.transcript()), within=60)  # its end wakes the session
    fleet.outcome(fleet.send(_process("log", command[0])))
    assert "counted to ten" in _last_result(fleet)


def _process(action: str, command: str) -> dict[str, object]:
    used = {"tool": "process", "input": {"action": action, "sessionId": command}}
    return program(call(used), say(f"{action} done"))


def _last_result(fleet: Fleet) -> str:
    results = [entry for entry in fleet.transcript() if isinstance(entry, ToolResultEntry)]
    return "".join(getattr(block, "text", "") for block in results[-1].content)
