"""The commands that `ocw` suggests to type next."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from openclaw_workers.cli.invocation import typed
from openclaw_workers.cli.main import run
from openclaw_workers.config.loader import load


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG", "REDIS_URL", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_default_state_directory_needs_no_options(home: Path) -> None:
    assert typed("down", load()) == "ocw down"
    (home / ".openclaw-workers").mkdir()
    (home / ".openclaw-workers" / "openclaw.yaml").touch()
    assert typed("down", load()) == "ocw down"


def test_another_terminal_does_not_know_our_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = home / "my files" / "own.yaml"
    own.parent.mkdir()
    own.touch()
    monkeypatch.setenv("OPENCLAW_STATE_DIR", "state")
    monkeypatch.setenv("OPENCLAW_CONFIG", "my files/own.yaml")

    words = shlex.split(typed('agent -m "hello"', load()))

    assert words == ["ocw", "--state-dir", f"{home}/state", "--config", str(own), "agent", "-m", "hello"]


@pytest.mark.parametrize("place", ["openclaw.yaml", ".openclaw-workers/own.yaml"])
def test_another_terminal_needs_the_path_of_a_local_or_renamed_file(home: Path, place: str) -> None:
    (home / ".openclaw-workers").mkdir()
    (home / place).touch()

    command = typed("up", load(None if place == "openclaw.yaml" else home / place))

    assert command == f"ocw --config {home / place} up"


def test_another_terminal_has_not_activated_our_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = f"{sys.prefix}/bin/ocw"
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert typed("down", load()) == f"{program} down"

    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.setenv("PATH", "/nowhere")
    assert typed("down", load()) == f"{program} down"


def test_with_nothing_running_the_hint_names_the_requested_directory(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--state-dir", str(home / "none"), "status"]) == 4

    assert f"start everything with `ocw --state-dir {home}/none up` in another terminal" in capsys.readouterr().err
