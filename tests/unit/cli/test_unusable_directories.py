"""A directory that cannot be used is a usage error, not a bug."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from openclaw_workers.cli.commands import up
from openclaw_workers.cli.main import run


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["no directory", "no user"])
def trouble(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The errors for a deleted working directory and for a missing home directory."""
    if request.param == "no user":
        monkeypatch.setenv("OPENCLAW_STATE_DIR", "~no-such-user/x")
        return "no home directory for the state directory"
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    return "the working directory cannot be used"


@pytest.mark.parametrize("words", ["status", "up", "up --detach", "down", "config check", "worker --lane main"])
def test_an_unusable_directory_is_a_usage_error(words: str, trouble: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 2
    assert trouble in capsys.readouterr().err


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "state" / "logs" / "detached.log"
    log.mkdir(parents=True)

    assert run(["--state-dir", str(tmp_path / "state"), "up", "--detach"]) == 2
    assert f"{log} cannot be used: Is a directory" in capsys.readouterr().err


def test_the_hint_does_not_move_away_the_lock_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_state_dir: Path) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path / "up.lock"))

    monkeypatch.setattr(up, "lock_state_dir", refuse)

    assert run(["--state-dir", str(tmp_path), "up"]) == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / 'up.lock'} cannot be used: Permission denied" in error
    assert "move it away" not in error


def test_a_configuration_file_that_is_a_directory_is_not_reported_as_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "openclaw.yaml").mkdir()

    assert run(["config", "check"]) == 3
    assert f"{tmp_path / 'openclaw.yaml'} is a directory" in capsys.readouterr().err
