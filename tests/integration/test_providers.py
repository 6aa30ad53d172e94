"""Real workers and SDKs call the wire-level server over the network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import AssistantEntry, ThinkingBlock, ToolResultEntry, UserEntry
from tests.support.fleet import Fleet
from tests.support.waiting import eventually
from tests.support.wire import Called, Hang, Reply, WireServer

PROGRAM = Path(__file__).parents[1] / "support" / "wire" / "cli_agent.py"


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def fleet_for(tmp_path: Path, **config: Any) -> Fleet:
    """A fleet without models unless the test configures them; default leases give the SDK time to load."""
    unset = {"agents": {"defaults": {"model": {}}}, "engine": {"leaseSeconds": 8.0}}
    return Fleet(tmp_path / "fleet", {**unset, **config})


def test_a_key_in_the_environment_is_enough(tmp_path: Path, server: WireServer) -> None:
    server.script += [Reply("I write.", calls=[Called("write", {"path": "a.txt", "content": "hi"})]), Reply("Written.")]
    with fleet_for(tmp_path) as fleet:
        fleet.worker(loglevel="DEBUG", OPENAI_API_KEY="key-from-env", OPENAI_BASE_URL=server.openai_url)
        outcome = fleet.outcome(fleet.send("write it"), within=90)
        assert outcome.text == "Written.", fleet.logs()
        assert (fleet.workspace / "a.txt").read_text() == "hi"
        assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
        assert [request.problems for request in server.requests] == [[], []]
        assert server.requests[0].body["model"] == "gpt-4o"
        assert server.requests[0].headers["authorization"] == "Bearer key-from-env"
        assert "key-from-env" not in fleet.logs()
        assert "HTTP Request" not in fleet.logs()
        kinds = [type(entry) for entry in fleet.transcript()]
        assert kinds == [UserEntry, AssistantEntry, ToolResultEntry, AssistantEntry]


def test_a_stop_closes_the_connection_to_the_model(tmp_path: Path, server: WireServer) -> None:
    server.script.append(Hang())
    provider = {"baseUrl": server.openai_url, "api": "openai-responses", "models": [{"id": "m", "reasoning": True}]}
    with fleet_for(
        tmp_path, models={"providers": {"local": provider}}, agents={"defaults": {"model": "local/m"}}
    ) as fleet:
        fleet.worker()
        queued = fleet.send("think hard")
        eventually(server.is_silent.is_set, within=90)
        assert server.went_away == []
        fleet.command("/stop")
        assert eventually(lambda: server.went_away, within=10)
        run = fleet.outcome(queued).run
        assert run is not None
        assert run.state is RunState.KILLED


def test_a_tool_call_of_the_responses_api_is_run_and_answered(tmp_path: Path, server: WireServer) -> None:
    server.script += [
        Reply(thinking="hm", calls=[Called("write", {"path": "a.txt", "content": "hi"})]),
        Reply("Written."),
    ]
    provider = {"baseUrl": server.openai_url, "api": "openai-responses", "models": [{"id": "m", "reasoning": True}]}
    with fleet_for(
        tmp_path, models={"providers": {"local": provider}}, agents={"defaults": {"model": "local/m"}}
    ) as fleet:
        fleet.worker()
        assert fleet.outcome(fleet.send("write it"), within=90).text == "Written.", fleet.logs()
        assert (fleet.workspace / "a.txt").read_text() == "hi"
        assert [(request.path, request.problems) for request in server.requests] == [("/v1/responses", [])] * 2
        kinds = [item.get("type") for item in server.requests[1].body["input"]]
        assert kinds[-3:] == ["reasoning", "function_call", "function_call_output"]


def test_arguments_that_are_not_json_are_reported_to_the_model(tmp_path: Path, server: WireServer) -> None:
    server.script += [Reply(thinking="hm", calls=[Called("write", '{"path": "a')]), Reply("Sorry.")]
    provider = {"baseUrl": server.url, "api": "anthropic-messages", "models": [{"id": "m", "reasoning": True}]}
    with fleet_for(
        tmp_path, models={"providers": {"local": provider}}, agents={"defaults": {"model": "local/m"}}
    ) as fleet:
        fleet.worker()
        assert fleet.outcome(fleet.send("write it"), within=90).text == "Sorry."
        result = fleet.transcript()[2]
        assert isinstance(result, ToolResultEntry)
        assert result.is_error
        assert "were not a JSON object" in result.content[0].text
        assert server.requests[1].body["messages"][1]["content"][0]["signature"] == "signed hm"


@pytest.mark.parametrize("how", ["/stop", "kill -9"])
def test_no_process_of_a_program_outlives_its_turn(tmp_path: Path, how: str) -> None:
    """Neither after a stop, nor after its worker was killed."""
    home = tmp_path / "home"
    home.mkdir()
    helper = {"command": [sys.executable, str(PROGRAM), "--home", str(home)]}
    with fleet_for(tmp_path, models={"cli": {"helper": helper}}, agents={"defaults": {"model": "cli/helper"}}) as fleet:
        worker = fleet.worker()
        queued = fleet.send("child")
        pid_file = home / "grandchild"
        eventually(lambda: pid_file.exists() and pid_file.read_text(), within=60)
        grandchild = psutil.Process(int(pid_file.read_text()))
        tree = [grandchild, psutil.Process(grandchild.ppid())]
        assert all(map(lives, tree))
        if how == "/stop":
            fleet.command("/stop")
        else:
            worker.kill()
        assert eventually(lambda: not any(map(lives, tree)), within=10)
        if how == "/stop":
            run = fleet.outcome(queued).run
            assert run is not None
            assert run.state is RunState.KILLED


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_program_answers_and_resumes_its_session(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    helper = {
        "command": [sys.executable, str(PROGRAM), "--home", str(home), "--json"],
        "resumeArgs": ["--resume", "{session}"],
        "output": "jsonl",
        "textField": "message.text",
    }
    with fleet_for(tmp_path, models={"cli": {"helper": helper}}, agents={"defaults": {"model": "cli/helper"}}) as fleet:
        fleet.worker()
        assert fleet.outcome(fleet.send("one"), within=60).text.startswith("turn 1: ")
        assert fleet.outcome(fleet.send("two")).text == "turn 2: two"
        answered = fleet.transcript()[-1]
        assert isinstance(answered, AssistantEntry)
        assert isinstance(answered.content[-1], ThinkingBlock)
