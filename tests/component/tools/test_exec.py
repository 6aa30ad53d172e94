"""`exec` on real processes: what it returns, and that it leaves no process behind."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError, ToolTimedOut, TurnAborted
from openclaw_workers.tools.base import Effect, ToolContext
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES
from openclaw_workers.tools.shell.exec import Exec, ExecInput
from tests.component.tools.conftest import Call
from tests.support.waiting import eventually


def pid_in(file: Path) -> int:
    eventually(lambda: file.exists() and file.read_text().endswith("\n"), within=10)
    return int(file.read_text())


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_command_is_never_repeated_by_recovery() -> None:
    assert Exec.effect is Effect.ONCE


def test_both_output_streams_and_the_exit_code_are_returned(call: Call, shown: list[str]) -> None:
    assert call("exec", command="echo out; echo err >&2; printf rest; exit 3") == "out\nerr\nrest\n[exit code 3]"
    assert shown == ["out", "err", "rest"]
    assert call("exec", command="true") == "(no output)\n[exit code 0]"
    assert call("exec", command="kill -9 $$") == "(no output)\n[ended by SIGKILL]"


def test_it_runs_in_the_workspace_and_reads_no_input(workspace: Path, call: Call) -> None:
    (workspace / "sub").mkdir()
    assert call("exec", command="pwd; cat", workdir="sub") == f"{workspace}/sub\n[exit code 0]"
    with pytest.raises(ToolError, match="outside the workspace"):
        call("exec", command="pwd", workdir="..")
    with pytest.raises(ToolError, match="cannot run a command in nowhere: No such file"):
        call("exec", command="pwd", workdir="nowhere")
    with pytest.raises(ToolError, match="NUL"):
        call("exec", command="echo \0")
    with pytest.raises(ToolError, match="could not be started: Argument list too long"):
        call("exec", command="true " + "x" * 200_000)


def test_a_command_does_not_see_the_workers_secrets(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN", "REDIS_URL", "QDRANT_URL", "MY_SECRET",
        "DB_PASSWORD", "OPENCLAW_STATE_DIR", "AWS_SESSION", "BASH_ENV",
    ):  # fmt: skip
        monkeypatch.setenv(name, "do-not-tell")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    output = call("exec", command="env")
    assert "do-not-tell" not in output
    assert "PATH=" in output
    assert "LC_ALL=C.UTF-8" in output


def test_long_output_keeps_its_head_and_its_tail(call: Call, shown: list[str]) -> None:
    output = call("exec", command="seq 1 200000")
    assert output.startswith("1\n2\n3\n")
    assert output.endswith("199999\n200000\n[exit code 0]")
    assert "bytes left out here" in output
    assert len(output.encode()) <= MAX_OUTPUT_BYTES + 200
    assert shown[-1] == "200000"
    noise = call("exec", command="head -c 300000 /dev/urandom")
    assert len(noise.encode()) <= MAX_OUTPUT_BYTES + 200


def test_a_command_that_times_out_is_killed_with_all_it_started(workspace: Path, call: Call) -> None:
    began = time.monotonic()
    with pytest.raises(ToolTimedOut, match=r"ended after 0\.3 s") as caught:
        call("exec", command="echo before; sleep 1000 & echo $! > pid; wait", timeout_seconds=0.3)
    assert caught.value.output == "before\n"
    assert time.monotonic() - began < 1.2
    eventually(lambda: is_gone(pid_in(workspace / "pid")), within=10)


def test_a_command_that_ignores_sigterm_is_killed_a_second_later(workspace: Path, call: Call) -> None:
    began = time.monotonic()
    with pytest.raises(ToolTimedOut):
        call("exec", command="trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done", timeout_seconds=0.3)
    assert 1.2 < time.monotonic() - began < 2.5
    assert is_gone(pid_in(workspace / "pid"))


def test_the_turns_own_limit_is_the_upper_bound(context: ToolContext) -> None:
    short = dataclasses.replace(context, timeout_seconds=0.2)
    with pytest.raises(ToolTimedOut, match=r"after 0\.2 s"):
        Exec().run(ExecInput(command="sleep 1000", timeout_seconds=500), short)


@pytest.mark.parametrize("command", ["sleep 1000", "trap '' TERM; while :; do sleep 0.1; done", "exec yes"])
def test_a_stopped_turn_ends_its_command_within_a_second(
    workspace: Path, call: Call, cancel: Cancel, command: str
) -> None:
    stopped_at: list[float] = []

    def stop() -> None:
        pid_in(workspace / "pid")
        stopped_at.append(time.monotonic())
        cancel.set(TurnAborted("stopped by a person"))

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(TurnAborted):
        call("exec", command=f"echo $$ > pid; {command}")
    assert time.monotonic() - stopped_at[0] < 1
    stopper.join()
    assert is_gone(pid_in(workspace / "pid"))


def test_a_background_child_does_not_delay_the_call_and_is_killed(workspace: Path, call: Call) -> None:
    began = time.monotonic()
    assert call("exec", command="sleep 1000 & echo $! > pid; echo hi") == "hi\n[exit code 0]"
    assert time.monotonic() - began < 1
    eventually(lambda: is_gone(pid_in(workspace / "pid")), within=10)


@pytest.mark.parametrize("leave", ["setsid sh {} &", "nohup sh {} &", "setsid -f sh {} &", "(setsid sh {} &);"])
def test_a_process_that_left_its_group_and_its_parent_is_ended_too(workspace: Path, call: Call, leave: str) -> None:
    command = leave.format("-c 'echo $$ > pid; exec yes'")
    output = call("exec", command=f"{command} sleep 0.2; echo hi")
    assert output.endswith("[exit code 0]")
    assert is_gone(pid_in(workspace / "pid"))


def test_output_in_flight_at_the_end_is_not_lost(call: Call) -> None:
    assert "late" in call("exec", command="(sleep 0.05; echo late) & true")


def test_a_command_that_closes_its_output_is_awaited(call: Call) -> None:
    began = time.monotonic()
    assert call("exec", command="exec >&- 2>&-; sleep 0.3; exit 4") == "(no output)\n[exit code 4]"
    assert time.monotonic() - began >= 0.3


def test_a_command_dies_with_a_worker_that_was_killed(workspace: Path) -> None:
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(workspace)], start_new_session=True)
    command, child = pid_in(workspace / "command"), pid_in(workspace / "child")
    assert not is_gone(command)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    eventually(lambda: is_gone(command) and is_gone(child), within=10)


WORKER = """
import sys
from pathlib import Path
from openclaw_workers.cancel import Cancel
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.shell.exec import Exec, ExecInput
context = ToolContext(Path(sys.argv[1]), "c", "main", "k", Cancel(), 600, print)
Exec().run(ExecInput(command="sleep 1000 & echo $! > child; echo $$ > command; wait"), context)
"""


def test_a_command_dies_with_a_worker_killed_during_its_start(workspace: Path) -> None:
    worker = subprocess.Popen([sys.executable, "-c", KILLED_AT_START + WORKER, str(workspace)], start_new_session=True)
    assert worker.wait() == -signal.SIGKILL
    eventually(lambda: is_gone(pid_in(workspace / "started")), within=10)


KILLED_AT_START = """
import os, signal, subprocess, sys
from openclaw_workers.tools.shell.start import Attached
class DiesAtOnce(Attached):
    def _report(self):
        report = super()._report()
        open(sys.argv[1] + "/started", "w").write(f"{report['pid']}\\n")
        os.kill(os.getpid(), signal.SIGKILL)
import openclaw_workers.tools.shell.exec as module
module.Attached = DiesAtOnce
"""


def test_fifty_commands_at_once_leave_nothing_behind(call: Call) -> None:
    me = psutil.Process()
    call("exec", command="true")
    fds, threads, children = me.num_fds(), me.num_threads(), me.children()
    began = time.monotonic()
    with ThreadPoolExecutor(50) as pool:
        output = list(pool.map(lambda n: call("exec", command=f"sleep 0.5; echo {n}"), range(50)))
    assert output == [f"{n}\n[exit code 0]" for n in range(50)]
    assert time.monotonic() - began < 10
    assert me.children() == children
    # A thread that was joined may take a moment to leave the kernel, and so may those of other tests.
    eventually(lambda: me.num_fds() <= fds and me.num_threads() <= threads, within=10)
