"""A worker is killed while an MCP server works for it: the call may have taken effect, so nobody makes it again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from openclaw_workers.agent.prompt.texts import WORKER_DIED_DURING_CALL
from openclaw_workers.domain.transcript import ToolResultEntry
from tests.support import mcp_stub
from tests.support.fleet import Fleet
from tests.support.programs import call, program, say
from tests.support.waiting import eventually


@pytest.fixture
def hangs(tmp_path: Path) -> Iterator[Path]:
    """Where hanging calls are noted. The servers sleep and do not see that their worker is gone, so they are ended."""
    path = tmp_path / "hangs"
    yield path
    for pid in path.read_text().splitlines() if path.exists() else []:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def test_an_interrupted_call_is_reported_and_not_made_again(tmp_path: Path, hangs: Path) -> None:
    stub = {"command": sys.executable, "args": [str(Path(mcp_stub.__file__))], "env": {"HANGS": str(hangs)}}
    config = {"mcp": {"startWaitSeconds": 30, "servers": {"stub": stub}}}
    with Fleet(tmp_path / "fleet", config) as fleet:
        fleet.ready(*(fleet.worker(wait=False) for _ in range(2)))
        steps = [call({"tool": "stub__hang", "input": {}}), call({"tool": "stub__echo", "input": {"text": "on"}})]
        sent = fleet.send(program(*steps, say("done")))

        eventually(hangs.exists, within=60)
        fleet.carrier().kill()

        assert fleet.outcome(sent, within=60).text == "done"
        hung, echoed = (entry for entry in fleet.transcript() if isinstance(entry, ToolResultEntry))
        assert (hung.text, hung.is_error) == (WORKER_DIED_DURING_CALL, True)
        assert "on" in echoed.text
        assert len(hangs.read_text().splitlines()) == 1
