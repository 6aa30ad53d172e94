"""Commands in the background, and the tool that reaches them."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError, TurnAborted
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.shell.background_commands import FINISHED, CommandDirectory, HeldCommand
from openclaw_workers.tools.shell.keys import key_bytes
from tests.component.tools.conftest import answer_of
from tests.component.tools.test_exec import is_gone, pid_in
from tests.support.waiting import eventually

_ID = re.compile(r"sessionId ([0-9a-f]{8})")


class Shell:
    """A session with `exec` and `process`."""

    def __init__(self, context: ToolContext) -> None:
        self.context = context
        self._answers: dict[str, str] = {}

    def __call__(self, tool: str, **arguments: Any) -> str:
        answer = answer_of(tool, arguments, self.context)
        assert isinstance(answer, str)
        return answer

    def start(self, command: str, **more: Any) -> str:
        answer = self("exec", command=command, **({"background": True} | more))
        found = _ID.search(answer)
        assert found, answer
        self._answers[found[1]] = answer
        return found[1]

    def held(self, command_id: str) -> HeldCommand:
        assert self.context.commands
        held = self.context.commands.get(command_id)
        assert held
        return held

    def poll_until(self, command_id: str, text: str) -> str:
        """What its start and polls return, until it holds a text."""
        seen = [self._answers.pop(command_id, "")]

        def look() -> bool:
            seen.append(self("process", action="poll", sessionId=command_id, timeout=500))
            return text in "".join(seen)

        eventually(look, within=30)
        return "".join(seen)


@pytest.fixture
def shell(context: ToolContext, tmp_path: Path) -> Shell:
    commands = CommandDirectory(tmp_path / "commands", authority="owner")
    return Shell(dataclasses.replace(context, commands=commands, may_background=True))


def test_a_command_goes_on_in_the_background_and_is_polled_to_its_end(shell: Shell) -> None:
    command = shell.start("echo first; read line; echo got $line")
    shell.poll_until(command, "first")
    assert shell("process", action="submit", sessionId=command, data="this") == f"Sent 5 bytes to {command}."
    assert "got this" in shell.poll_until(command, "[exit code 0]")
    assert shell("process", action="log", sessionId=command) == "first\ngot this\n[lines 1-2 of 2; exit code 0]"
    assert f"{command}  exit code 0" in shell("process", action="list")
    assert shell("process", action="clear", sessionId=command) == f"Forgot {command}."
    assert shell("process", action="list") == "No background commands."


def test_a_command_in_the_foreground_yields_when_it_takes_long(shell: Shell, workspace: Path) -> None:
    answer = shell("exec", command="echo early; cat; until [ -e go ]; do sleep 0.02; done; echo late", yieldMs=300)
    assert answer.startswith("early\n[still running in the background: sessionId ")
    found = _ID.search(answer)
    assert found
    (workspace / "go").touch()
    rest = shell.poll_until(found[1], "[exit code 0]")
    assert "late" in rest
    assert "early" not in rest


def test_a_command_that_ends_in_time_leaves_nothing_behind(shell: Shell) -> None:
    assert shell("exec", command="echo hi", yieldMs=60_000) == "hi\n[exit code 0]"
    assert shell.context.commands
    assert [each.name for each in shell.context.commands.root.iterdir()] == [FINISHED]


def test_without_the_process_tool_nothing_runs_in_the_background(shell: Shell) -> None:
    shell.context = dataclasses.replace(shell.context, may_background=False)
    with pytest.raises(ToolError, match="does not have the process tool"):
        shell("exec", command="true", background=True)
    assert shell("exec", command="sleep 0.3; echo done", yieldMs=10) == "done\n[exit code 0]"


def test_a_command_with_a_terminal_reads_keys(shell: Shell) -> None:
    command = shell.start("tty; stty size; cat -v", pty=True)
    assert "30 120" in shell.poll_until(command, "30 120")
    shell("process", action="send-keys", sessionId=command, literal="abc", keys=["Up", "Enter"])
    shell.poll_until(command, "abc^[[A")
    shell("process", action="send-keys", sessionId=command, keys=["C-d"])
    shell.poll_until(command, "[exit code 0]")
    with pytest.raises(ToolError, match="no longer runs"):
        shell("process", action="submit", sessionId=command)


def test_input_can_be_written_and_ended(shell: Shell) -> None:
    command = shell.start("wc -c")
    text = "x" * 300_000
    shell("process", action="write", sessionId=command, data=text, eof=True)
    shell.poll_until(command, "300000")
    quiet = shell.start("sleep 1000", background=False, yieldMs=10)
    with pytest.raises(ToolError, match="reads no input"):
        shell("process", action="write", sessionId=quiet, data="x")
    shell("process", action="kill", sessionId=quiet)


def test_killing_ends_the_whole_tree(shell: Shell, workspace: Path) -> None:
    command = shell.start("trap '' TERM; (setsid sh -c 'echo $$ > pid; exec sleep 1000' &); sleep 1000; sleep 1000")
    pid = pid_in(workspace / "pid")
    assert shell("process", action="kill", sessionId=command) == f"Ended {command} and all it started."
    assert is_gone(pid)
    assert "killed, ended by SIG" in shell("process", action="list")
    assert shell.context.commands
    assert shell.context.commands.finished() == []  # whoever kills it need not be told


def test_a_time_limit_holds_in_the_background(shell: Shell, workspace: Path) -> None:
    command = shell.start("echo $$ > pid; sleep 1000 & wait", timeout=0.5)
    shell.poll_until(command, "[ended by its time limit]")
    assert is_gone(pid_in(workspace / "pid"))


def test_a_stopped_turn_ends_what_it_waits_for_but_not_what_went_on(shell: Shell, cancel: Cancel) -> None:
    command = shell.start("sleep 1000")
    cancel.set(TurnAborted("stopped by a person"))
    with pytest.raises(TurnAborted):
        shell("exec", command="sleep 1000")
    assert shell.held(command).state() == "running"
    shell.held(command).kill()


def test_a_session_sees_its_own_commands_only(shell: Shell) -> None:
    command = shell.start("sleep 1000")
    other = Shell(dataclasses.replace(shell.context, session_key="agent:main:other"))
    assert other("process", action="list") == "No background commands."
    for name in (command, "../x", "00000000"):
        with pytest.raises(ToolError, match="no background command"):
            other("process", action="kill", sessionId=name)
    shell("process", action="kill", sessionId=command)


def test_the_environment_of_a_run_reaches_its_commands_and_no_file(shell: Shell, workspace: Path) -> None:
    secret = "planted-secret-7391"
    shell.context = dataclasses.replace(shell.context, environment={"SERVICE_KEY": secret})
    command = shell.start('test -n "$SERVICE_KEY" && echo present; sleep 1000', env={"MINE": "1"})
    shell.poll_until(command, "present")
    held = shell.held(command)
    kept = b"".join(path.read_bytes() for path in held.directory.iterdir() if path.is_file())
    assert secret.encode() not in kept
    assert b"present" in kept
    holder = psutil.Process(held.info.pid).parent()
    assert holder
    assert secret not in " ".join([*holder.cmdline(), *holder.environ().values()])
    shell("process", action="kill", sessionId=command)


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "BASH_ENV", "A-B", "BASH_FUNC_ls%%"])
def test_a_model_cannot_set_variables_that_change_which_programs_run(shell: Shell, name: str) -> None:
    with pytest.raises(ToolError, match="cannot be set"):
        shell("exec", command="true", env={name: "x"})


def test_a_flood_of_output_is_bounded_on_disk_and_said(shell: Shell) -> None:
    command = shell.start("head -c 30000000 /dev/zero | tr '\\0' x; echo; echo end")
    shell.poll_until(command, "end\n\n[exit code 0]")
    log = shell("process", action="log", sessionId=command, limit=1)
    assert log.startswith("end\n[lines ")
    assert "bytes are gone" in log
    files = [path for path in shell.held(command).directory.iterdir() if path.name.startswith("output.")]
    assert sum(path.stat().st_size for path in files) <= 17 << 20


def test_a_command_whose_holder_was_killed_is_reported_as_lost(shell: Shell, workspace: Path) -> None:
    command = shell.start("echo $$ > pid; sleep 1000")
    pid = pid_in(workspace / "pid")
    holder = psutil.Process(pid).parent()
    assert holder
    holder.kill()
    holder.wait()
    assert "lost: the process that held it on this host" in shell("process", action="list")
    with pytest.raises(ToolError, match="its outcome is unknown"):
        shell("process", action="kill", sessionId=command)
    held = shell.held(command)
    assert shell.context.commands
    shell.context.commands.keep(held.directory, dataclasses.replace(held.info, host="elsewhere"))
    assert "host elsewhere, which is gone" in shell("process", action="list")
    os.kill(pid, signal.SIGKILL)


WORKER = """
import sys
from pathlib import Path
from openclaw_workers.cancel import Cancel
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.shell.exec import Exec
from openclaw_workers.tools.shell.background_commands import CommandDirectory
commands = CommandDirectory(Path(sys.argv[2]))
here, session = Path(sys.argv[1]), sys.argv[3]
context = ToolContext(here, "c", "main", session, Cancel(), 600, print, commands=commands, may_background=True)
command = "echo $$ > pid; until [ -e go ]; do sleep 0.02; done; echo survived"
print(Exec().run(Exec().parse({"command": command, "background": True}), context), flush=True)
sys.stdin.read()
"""


def test_a_background_command_outlives_its_worker_and_is_polled_by_another(shell: Shell, workspace: Path) -> None:
    assert shell.context.commands
    argv = [sys.executable, "-c", WORKER, str(workspace), str(shell.context.commands.root), shell.context.session_key]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as worker:
        assert worker.stdout
        found = _ID.search(worker.stdout.readline().decode())
        assert found
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    assert not is_gone(pid_in(workspace / "pid"))
    (workspace / "go").touch()
    assert "survived" in shell.poll_until(found[1], "[exit code 0]")


def test_output_is_kept_for_a_time_after_the_end(shell: Shell) -> None:
    commands = shell.context.commands
    assert commands
    running, ended = shell.start("sleep 1000"), shell.start("sleep 0.5")
    shell.poll_until(ended, "[exit code 0]")
    assert commands.prune() == 0
    held = shell.held(ended)
    commands.keep(held.directory, dataclasses.replace(held.info, keep_ms=-1))
    eventually(lambda: commands.prune() == 1, within=20)
    assert [each.info.id for each in commands.all()] == [running]
    shell("process", action="kill", sessionId=running)


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("Enter", b"\r"),
        ("escape", b"\x1b"),
        ("C-c", b"\x03"),
        ("^C", b"\x03"),
        ("M-x", b"\x1bx"),
        ("S-Tab", b"\x1b[Z"),
        ("F5", b"\x1b[15~"),
        ("é", "é".encode()),
    ],
)
def test_keys_have_names(name: str, sent: bytes) -> None:
    assert key_bytes(name) == sent


def test_an_unknown_key_and_missing_arguments_are_refused_with_what_was_expected(shell: Shell) -> None:
    with pytest.raises(ToolError, match="there is no key 'C-Nope'"):
        key_bytes("C-Nope")
    command = shell.start("cat")
    for arguments, message in (
        ({"action": "poll"}, "poll needs sessionId"),
        ({"action": "write", "sessionId": command}, "write needs data"),
        ({"action": "send-keys", "sessionId": command}, "send-keys needs keys"),
        ({"action": "send-keys", "sessionId": command, "hex": ["zz"]}, "expected bytes such as"),
        ({"action": "clear", "sessionId": command}, "still runs; kill it first"),
    ):
        with pytest.raises(ToolError, match=message):
            shell("process", **arguments)
    shell("process", action="kill", sessionId=command)


def test_a_poll_returns_as_soon_as_there_is_something(shell: Shell) -> None:
    command = shell.start("until [ -e go ]; do sleep 0.02; done; echo now; sleep 1000")
    began = time.monotonic()
    (shell.context.workspace / "go").touch()
    assert "now\n\n[running]" in shell("process", action="poll", sessionId=command, timeout=100_000)
    assert time.monotonic() - began < 50
    shell("process", action="kill", sessionId=command)
