"""A server that the worker starts: its tools, its limits, and what happens when it misbehaves."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from openclaw_workers.domain.untrusted import opening_marker
from openclaw_workers.errors import TurnAborted
from openclaw_workers.tools.base import Effect
from tests.component.tools.mcp.conftest import SDK_SERVER, MakeServers, stub
from tests.support.mcp_stub import PNG, TOOLS
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)


def starts(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_tools_are_named_after_their_server_and_their_answers_are_untrusted(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub(), off=stub(enabled=False))

    echo = servers.call("s__echo", text="hello")

    assert servers.names == [f"s__{name.replace('.', '_')}" for name in TOOLS]
    assert echo.quoted.startswith(f"{opening_marker('tool s__echo')}\nhello\n")
    report = servers.report()
    assert (report["state"], report["version"], report["restarts"], report["problem"]) == ("ready", "stub 1.0", 0, "")
    tool = servers.all.tools()[0]
    assert (tool.effect, tool.groups) == (Effect.ONCE, ("mcp", "s"))
    assert tool.spec.description == "It does echo."


def test_images_and_failures_are_carried_over(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub())

    (image,) = servers.call("s__picture").files
    failed = servers.call("s__fail")

    assert (image.mime_type, Path(image.path).read_bytes()) == ("image/png", PNG)
    assert (failed.failed, failed.text, failed.output) == (True, "s__fail reports a failure", "no such thing")


def test_names_that_models_cannot_use_are_changed_and_changed_back(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub())

    tool = next(tool for tool in servers.all.tools() if tool.name == "s__odd_name")
    (name,) = tool.spec.input_schema["properties"]

    assert json.loads(servers.call("s__odd_name", **{name: "it"}).output) == {"what is it?": "it"}
    assert name == "what_is_it_"


def test_a_server_gets_the_configured_environment_and_no_secrets(
    make_servers: MakeServers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted")
    servers = make_servers(s=stub(env={"TOKEN": "given"}, cwd=str(tmp_path)))

    seen = json.loads(servers.call("s__env").output)

    assert (seen["TOKEN"], seen["PATH"], seen["cwd"]) == ("given", os.environ["PATH"], str(tmp_path))
    assert "sk-planted" not in json.dumps(seen)


def test_long_answers_are_cut(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub(maxOutput=2048))

    output = servers.call("s__long").output

    assert len(output) < 5_000
    assert "bytes left out here" in output


def test_no_more_tools_are_used_than_the_limit(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub(maxTools=2))

    assert len(servers.names) == 2
    assert servers.report()["toolsLeftOut"] == len(TOOLS) - 2


def test_a_server_that_dies_is_started_again(make_servers: MakeServers, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    servers = make_servers(s=stub(env={"STARTS": str(log), "TOKEN": "hidden-value"}))

    died = servers.call("s__die")
    again = servers.call("s__echo", text="I am back")

    assert died.failed
    assert again.output == "I am back"
    assert len(starts(log)) == 2
    assert servers.report()["restarts"] == 1


def test_what_a_server_said_last_is_reported_without_its_secrets(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub("broken", env={"TOKEN": "cannot"}))

    assert servers.names == []
    report = servers.report()
    assert report["state"] == "waiting"
    assert report["problem"] == "it ended with exit code 1: *** start today"


def test_a_program_that_is_missing_is_named(make_servers: MakeServers) -> None:
    servers = make_servers(s={"command": "no-such-program-here"})

    assert servers.names == []
    assert servers.report()["problem"] == "there is no program or directory no-such-program-here"


def test_tools_are_withdrawn_after_repeated_failures(make_servers: MakeServers, tmp_path: Path) -> None:
    flag = tmp_path / "script.py"
    flag.write_text(Path(stub()["args"][0]).read_text())
    servers = make_servers(s={"command": sys.executable, "args": [str(flag)]})
    assert servers.names

    flag.write_text("import sys; sys.exit('gone')")
    servers.call("s__die")

    eventually(lambda: servers.report()["restarts"] >= 3, within=60)
    assert servers.names == []


def test_a_server_that_hangs_costs_one_call_and_is_started_again(
    make_servers: MakeServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openclaw_workers.tools.mcp.connection.CHECK_SECONDS", 0.5)
    log = tmp_path / "starts"
    servers = make_servers(s=stub(env={"STARTS": str(log)}, timeoutSeconds=1))

    hung = servers.call("s__hang")
    eventually(lambda: len(starts(log)) == 2 and servers.report()["state"] == "ready", within=60)

    assert "did not answer within 1 seconds: still waiting for its answer" in hung.text
    assert servers.call("s__echo", text="again").output == "again"


@pytest.mark.parametrize("tool", ["flood", "huge"])
def test_a_server_that_floods_is_started_again(make_servers: MakeServers, tool: str) -> None:
    servers = make_servers(s=stub(maxMessage=100_000))

    flooded = servers.call(f"s__{tool}")

    assert flooded.failed
    eventually(lambda: servers.report()["restarts"] == 1, within=60)
    assert servers.call("s__echo", text="again").output == "again"


def test_other_lines_on_stdout_do_no_harm(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub())

    assert servers.call("s__junk").output == "junk done"
    assert servers.report()["restarts"] == 0


def test_changed_tools_are_noticed_and_the_others_stay_the_same_objects(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub())
    before = servers.all.tools()
    assert servers.all.tools() is before

    servers.call("s__change")

    eventually(lambda: "s__new" in servers.names, within=60)
    assert "s__fail" not in servers.names
    assert servers.all.tools()[0] is before[0]
    assert servers.call("s__new").output == "new done"


def test_calls_above_the_limit_wait_for_their_turn(make_servers: MakeServers, tmp_path: Path) -> None:
    hangs = tmp_path / "hangs"
    servers = make_servers(s=stub(maxConcurrent=1, env={"HANGS": str(hangs)}))
    hung = threading.Thread(target=servers.call, args=("s__hang", 5))
    hung.start()
    eventually(lambda: starts(hangs), within=60)

    waited = servers.call("s__echo", 0.3, text="x")
    hung.join()

    assert "still waiting for one of its calls to end" in waited.text


def test_a_stopped_turn_does_not_wait_for_its_call(make_servers: MakeServers) -> None:
    servers = make_servers(s=stub())
    assert servers.names
    threading.Timer(0.2, servers.cancel.set, [TurnAborted("stopped")]).start()

    with pytest.raises(TurnAborted):
        servers.call("s__hang")


def test_a_turn_does_not_wait_for_a_server_that_is_slow_to_start(make_servers: MakeServers) -> None:
    servers = make_servers(start_wait_seconds=0.2, slow=stub("silent"))

    assert servers.names == []
    assert servers.report()["state"] == "starting"


def test_a_server_that_does_not_start_in_time_is_given_up_for_now(make_servers: MakeServers, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    servers = make_servers(slow=stub("silent", startTimeoutSeconds=1, env={"STARTS": str(log)}))

    assert servers.names == []
    assert servers.report()["problem"] == "it did not answer in time"
    eventually(lambda: len(starts(log)) == 2, within=60)


def test_servers_end_with_their_worker(make_servers: MakeServers, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    hung = stub("silent", env={"STARTS": str(log)})
    servers = make_servers(start_wait_seconds=0.1, s=stub(env={"STARTS": str(log)}), hung=hung)
    eventually(lambda: servers.names and len(starts(log)) == 2, within=60)

    servers.all.stop()

    assert [pid for pid in starts(log) if Path(f"/proc/{pid}").exists()] == []
    assert servers.call("s__echo", text="x").failed


def test_nothing_is_imported_or_started_without_servers() -> None:
    code = (
        "import sys; from openclaw_workers.tools.mcp.servers import McpServers;"
        "from openclaw_workers.config.mcp import McpSettings;"
        "servers = McpServers(McpSettings()); servers.start(); assert servers.tools() == ();"
        "import openclaw_workers.engine.worker_graph;"
        "assert 'mcp' not in sys.modules; import threading; assert threading.active_count() == 1"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0


def test_a_server_of_the_sdk_works(make_servers: MakeServers) -> None:
    servers = make_servers(sdk={"command": sys.executable, "args": [SDK_SERVER]})

    assert servers.call("sdk__add", a=2).output == "3"
    assert servers.call("sdk__far", point={"x": 1, "y": -2}, others=[{"x": 0, "y": 0}]).output == "3 and 1 others"
    assert servers.call("sdk__add", a="no number").failed
    assert "sdk__broken" in servers.call("sdk__broken").text
    assert servers.call("sdk__steps").output == "all of it"
    assert servers.shown == ["half of it"]
    (image,) = servers.call("sdk__picture").files
    assert image.mime_type == "image/png"
    assert servers.call("sdk__change").output == "changed"
    eventually(lambda: "sdk__added" in servers.names, within=60)
    assert servers.call("sdk__added").output == "I am new"
    far = next(tool for tool in servers.all.tools() if tool.name == "sdk__far")
    assert "$ref" not in json.dumps(far.spec.input_schema)
