"""`ocw agent` and `ocw status` on the machine of `ocw up` ask its ingress, and speak as the owner at the terminal."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from getpass import getuser
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.remote.address import ApiAddress
from openclaw_workers.remote.blocking import BlockingTransport
from tests.integration.test_up import Ocw
from tests.support.waiting import eventually

CONFIG = "session: {dmScope: per-channel-peer}\ngateway: {limits: {requestsPerMinute: 3}}\n"


@pytest.fixture(scope="module")
def ocw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ocw]:
    state_dir = tmp_path_factory.mktemp("state")
    (state_dir / "openclaw.yaml").write_text(CONFIG)
    started = Ocw(state_dir, PYTHONPROFILEIMPORTTIME="1")
    started.up("--no-flower")
    yield started
    started("down")


def loads_redis(err: str) -> bool:
    """By the modules that Python has listed."""
    return any(line.rsplit("|", 1)[-1].strip() == "redis" for line in err.splitlines())


def answer_of(ocw: Ocw, *words: str) -> tuple[dict[str, Any], bool]:
    """The JSON of a command, and whether it opened Redis itself."""
    done = ocw(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), loads_redis(done.stderr)


def directly(ocw: Ocw) -> Ocw:
    """With a variable that may name another installation, a command opens Redis itself."""
    return Ocw(ocw.state_dir, PYTHONPROFILEIMPORTTIME="1", REDIS_URL=ocw.runtime.redis_url)


def test_a_message_is_the_same_through_the_ingress_and_without_it(ocw: Ocw, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("A file.")

    here, opened = answer_of(ocw, "agent", "-m", "hi", "--message-id", "one", "--file", str(tmp_path / "note.txt"))
    there, opened_directly = answer_of(directly(ocw), "agent", "-m", "hi", "--message-id", "two")
    again, _ = answer_of(directly(ocw), "agent", "-m", "hi", "--message-id", "one")

    assert (opened, opened_directly) == (False, True)
    assert here["sessionKey"] == there["sessionKey"] == f"agent:main:cli:dm:{getuser()}"
    assert again["runId"] == here["runId"], "a message id is the same whichever way it goes"
    rows = json.loads(ocw("sessions", "list", "--json").stdout)["sessions"]
    assert [row["sessionKey"] for row in rows] == [here["sessionKey"]]
    command, _ = answer_of(ocw, "agent", "-m", "/whoami")
    assert "owner" in command["text"]


def test_status_is_the_same_through_the_ingress_and_without_it(ocw: Ocw) -> None:
    here, opened = answer_of(ocw, "status")
    there, opened_directly = answer_of(directly(ocw), "status")

    assert (opened, opened_directly) == (False, True)
    assert here.keys() == there.keys()
    assert {each["id"] for each in here["workers"]} == {each["id"] for each in there["workers"]}


def test_many_commands_in_a_row_are_not_limited(ocw: Ocw) -> None:
    """Although a token may make three requests in a minute."""
    found = [answer_of(ocw, "status") for _ in range(5)]

    assert [opened for _, opened in found] == [False] * 5


def test_a_file_of_another_installation_is_obeyed(ocw: Ocw, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("redis: {url: 'redis://127.0.0.1:1/0'}")

    done = ocw("agent", "-m", "hi", "--config", str(other))

    assert done.returncode != 0
    assert "127.0.0.1:1" in done.stderr
    assert loads_redis(done.stderr)


def test_without_an_ingress_a_command_opens_redis_itself(ocw: Ocw) -> None:
    running = ocw.runtime
    assert running.ingress_url is not None
    transport = BlockingTransport(ApiAddress(running.ingress_url))
    os.kill(running.pid, signal.SIGSTOP)  # so that nobody starts another ingress
    try:
        os.kill(running.pids["ingress"], signal.SIGKILL)
        eventually(lambda: not transport.connects(), within=30)
        answer, opened = answer_of(ocw, "agent", "-m", "hi")
    finally:
        os.kill(running.pid, signal.SIGCONT)

    assert (answer["status"], opened) == ("ok", True)
