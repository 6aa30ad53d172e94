"""The process that starts a holder for each command of a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import psutil
import pytest

from openclaw_workers.sandbox.launch import Launch
from openclaw_workers.tools.shell import holder_server
from openclaw_workers.tools.shell.holder_server import HolderServer
from openclaw_workers.tools.shell.start import Attached
from tests.component.tools.conftest import Call
from tests.support.waiting import eventually


def holder_servers(of: int) -> list[psutil.Process]:
    alive = [each for each in psutil.Process(of).children() if each.status() != psutil.STATUS_ZOMBIE]
    return [each for each in alive if "holder.server" in " ".join(each.cmdline())]


def test_commands_share_one_and_a_killed_one_is_replaced(call: Call) -> None:
    for _ in range(2):
        assert call("exec", command="echo hi") == "hi\n[exit code 0]"
    (server,) = holder_servers(os.getpid())
    server.kill()
    eventually(lambda: server.status() == psutil.STATUS_ZOMBIE, within=10)

    assert call("exec", command="echo hi") == "hi\n[exit code 0]"

    assert len(holder_servers(os.getpid())) == 1


def test_one_that_does_not_answer_is_replaced(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("exec", command="echo hi") == "hi\n[exit code 0]"
    (server,) = holder_servers(os.getpid())
    server.suspend()
    monkeypatch.setattr(holder_server, "_ANSWER_SECONDS", 1.0)

    assert call("exec", command="echo hi") == "hi\n[exit code 0]"

    (replacement,) = holder_servers(os.getpid())
    assert not psutil.pid_exists(server.pid), "a killed one leaves no zombie"
    assert replacement.pid != server.pid


def test_one_that_is_killed_before_it_read_the_request_is_replaced(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("exec", command="echo hi") == "hi\n[exit code 0]"
    (server,) = holder_servers(os.getpid())
    server.suspend()
    first_line = holder_server._first_line

    def kill_it(stream: BinaryIO) -> bytes:
        with suppress(psutil.NoSuchProcess):  # the second time
            server.kill()
        return first_line(stream)

    monkeypatch.setattr(holder_server, "_first_line", kill_it)

    assert call("exec", command="echo hi") == "hi\n[exit code 0]"


NO_FORK = "import os\ndef fork(): raise BlockingIOError(11, 'Resource temporarily unavailable')\nos.fork = fork\n"


def test_it_says_why_no_process_could_be_started_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holder_server, "_MAIN", NO_FORK + holder_server._MAIN)
    server = HolderServer()
    for _ in range(2):
        with pytest.raises(OSError, match="Resource temporarily unavailable"):
            server.start_holder()
    (process,) = [each for each in holder_servers(os.getpid()) if "BlockingIOError" in " ".join(each.cmdline())]
    process.kill()
    process.wait()


def test_a_holder_without_its_directory_says_so(tmp_path: Path) -> None:
    launch = Launch(["/bin/true"], "/", {})
    with pytest.raises(OSError, match="No such file or directory"):
        Attached(tmp_path / "missing", launch)


def test_many_commands_at_once_leave_no_process_and_no_descriptor(call: Call) -> None:
    call("exec", command="true")
    me, (server,) = psutil.Process(), holder_servers(os.getpid())
    before = me.num_fds(), server.num_fds()

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda number: call("exec", command=f"echo {number}"), range(100)))

    assert answers == [f"{number}\n[exit code 0]" for number in range(100)]
    assert (me.num_fds(), server.num_fds(), server.children()) == (*before, [])


def test_a_holder_is_no_child_of_the_worker(call: Call) -> None:
    output = call("exec", command="ps -o ppid= -p $PPID")
    ancestor = int(output.split()[0])
    (server,) = holder_servers(os.getpid())
    assert ancestor not in (server.pid, os.getpid())


WORKER = """
import os, sys, time
from pathlib import Path
from openclaw_workers.cancel import Cancel
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.shell.exec import Exec, ExecInput
def run(command):
    return Exec().run(ExecInput(command=command), ToolContext(Path("."), "c", "main", "k", Cancel(), 600, print))
run("true")
if os.fork() == 0:
    # A process that this one forked starts commands too, also when this one is gone.
    while os.getppid() != 1: time.sleep(0.01)
    run("echo hi > by-child")
    os._exit(0)
open("ready", "w").close()
time.sleep(600)
"""


def test_it_ends_with_its_worker_and_those_that_the_worker_forked(tmp_path: Path) -> None:
    worker = subprocess.Popen([sys.executable, "-c", WORKER], cwd=tmp_path)
    eventually((tmp_path / "ready").exists, within=60)
    (server,) = holder_servers(worker.pid)

    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()

    eventually(lambda: (tmp_path / "by-child").exists() and not server.is_running(), within=60)
