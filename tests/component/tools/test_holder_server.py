"""The process that starts a holder for each command of a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.component.tools.conftest import Call
from tests.support.waiting import eventually


def holder_servers(of: int) -> list[psutil.Process]:
    return [each for each in psutil.Process(of).children() if "holder.server" in " ".join(each.cmdline())]


def test_commands_share_one_and_a_killed_one_is_replaced(call: Call) -> None:
    for _ in range(2):
        assert call("exec", command="echo hi") == "hi\n[exit code 0]"
    (server,) = holder_servers(os.getpid())
    server.kill()
    eventually(lambda: server.status() == psutil.STATUS_ZOMBIE, within=10)

    assert call("exec", command="echo hi") == "hi\n[exit code 0]"

    assert len(holder_servers(os.getpid())) == 1


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
