"""`ocw` in its own process: quick help, closed pipes, full disks, and commands copied from its output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from openclaw_workers.cli.invocation import typed
from openclaw_workers.cli.main import run
from openclaw_workers.config.loader import load

OCW = [sys.executable, "-m", "openclaw_workers.cli.main"]


def test_help_imports_none_of_the_commands() -> None:
    heavy = ("pydantic", "redis", "celery", "yaml", "rich")
    code = (
        "import sys; from openclaw_workers.cli.main import run; run(['--help']); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_OCW_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["config", "show"], ["--help"], ["--version"], ["sessions", "--help"]])
def test_a_reader_that_closes_the_pipe_is_not_a_failure(words: list[str]) -> None:
    command = [*OCW, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        error = process.stderr.read()

    assert (process.returncode, error) == (0, "")


@pytest.mark.parametrize(("closed", "words", "code"), [(">&-", ("config", "check"), 0), ("2>&-", ("nonsense",), 2)])
def test_a_closed_output_is_not_a_bug(closed: str, words: tuple[str, ...], code: int) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *OCW, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout + done.stderr) == (code, "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("words", [("config", "show"), ("config", "check", "--json"), ("--help",)])
def test_a_full_disk_has_its_own_exit_code(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*OCW, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert (done.returncode, done.stderr) == (74, "error: cannot write: No space left on device\n")


def test_a_command_typed_as_shown_finds_the_same_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG", "REDIS_URL", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openclaw.yaml").write_text("engine: {namespace: ours}")
    shown = typed("config show engine.namespace", load(state_dir=tmp_path / "it's here"))
    monkeypatch.chdir("/")

    done = subprocess.run(shown, shell=True, executable="/bin/sh", capture_output=True, text=True, check=False)

    assert "ours" in done.stdout, done.stderr
