"""`ocw init`: what it writes, and what it never does."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.main import run
from openclaw_workers.cli.setup import first_steps
from openclaw_workers.cli.setup.answers import SetupAnswers, full_model
from openclaw_workers.cli.setup.files import add_to_env
from openclaw_workers.config.host_secrets import read_env_file
from openclaw_workers.errors import BadInput

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN", "OPENCLAW_CONFIG", "OPENCLAW_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state"


def init(*options: str) -> int:
    return run(["init", "--yes", "--no-start", *options])


def written(state: Path) -> Any:
    return yaml.safe_load((state / "openclaw.yaml").read_text())


def test_without_a_key_the_built_in_model_answers(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--json") == 0

    answer = json.loads(capsys.readouterr().out)
    assert (answer["model"], answer["dailyLimit"], answer["started"]) == ("offline/demo", None, False)
    assert [Path(each).name for each in answer["files"]] == ["openclaw.yaml", "AGENTS.md"]
    assert written(state) == {"agents": {"defaults": {"model": {"primary": "offline/demo"}}}}
    assert not (state / ".env").exists()
    assert run(["config", "check"]) == 0


def test_a_key_is_kept_for_its_owner_alone_and_shown_nowhere(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text(f" {KEY}\n")
    (tmp_path / "token").write_text("123456789:AAE-abcdefghijklmnopqrstuvwxyz")
    assert init("--provider", "openai", "--api-key-file", "key", "--telegram-token-file", "token") == 0

    shown = capsys.readouterr()
    assert KEY not in shown.out + shown.err + (state / "openclaw.yaml").read_text()
    assert read_env_file(state / ".env")["OPENAI_API_KEY"] == KEY
    assert stat.S_IMODE((state / ".env").stat().st_mode) == 0o600
    assert written(state) == {
        "agents": {"defaults": {"model": {"primary": "openai/gpt-5"}}},
        "budgets": {"day": {"cost": 5.0}},
        "channels": {"telegram": {"botToken": "${TELEGRAM_BOT_TOKEN}"}},
    }
    assert run(["config", "check"]) == 0


def test_a_key_of_the_environment_is_used_and_not_copied(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert init("--model", "claude-haiku-4-5", "--daily-limit", "0") == 0
    assert written(state) == {"agents": {"defaults": {"model": {"primary": "anthropic/claude-haiku-4-5"}}}}
    assert not (state / ".env").exists()


def test_nothing_that_exists_is_replaced_unless_somebody_says_so(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text(KEY)
    state.mkdir()
    (state / ".env").write_text("OTHER=1\nexport OPENAI_API_KEY=old\n")
    options = ("--provider", "openai", "--api-key-file", "key")
    assert init(*options) == 6
    assert "OPENAI_API_KEY in" in capsys.readouterr().err
    assert not (state / "openclaw.yaml").exists()

    assert init(*options, "--replace") == 0
    assert read_env_file(state / ".env") == {"OTHER": "1", "OPENAI_API_KEY": KEY}
    agents = next(state.rglob("AGENTS.md"))
    agents.write_text("mine")
    assert init("--provider", "none") == 6
    assert "openclaw.yaml exists already" in capsys.readouterr().err
    assert init("--provider", "none", "--replace") == 0
    assert agents.read_text() == "mine"


def test_what_cannot_be_used_is_refused_before_anything_is_written(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("not a token")
    assert init("--provider", "openai") == 2
    assert "--api-key-file" in capsys.readouterr().err
    assert init("--provider", "none", "--telegram-token-file", "token") == 2
    assert init("--provider", "none", "--telegram-token-file", "missing") == 2
    assert not (state / "openclaw.yaml").exists()
    with pytest.raises(BadInput):
        full_model("openai", "anthropic/claude-haiku-4-5")


def test_a_value_with_quotes_is_read_back_as_it_was(tmp_path: Path) -> None:
    secrets = {"A": "it's", "B": 'a"b', "C": "x'\\\"y", "D": "plain#1"}
    add_to_env(tmp_path, secrets)
    assert read_env_file(tmp_path / ".env") == secrets


def test_answers_are_printed_without_secrets() -> None:
    assert KEY not in repr(SetupAnswers("openai", "openai/gpt-5", 5.0, {"OPENAI_API_KEY": KEY}, False))


class Pairing:
    """A backend in which one person after the other asks to be let in."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.approved: list[str] = []

    def pairings(self) -> dict[str, Any]:
        return {"requests": [{"name": name, "subject": f"telegram:{name}", "code": name} for name in self.names]}

    def approve(self, who: str, *, share_session: bool) -> dict[str, Any]:
        self.approved.append(who)
        return {"ok": True, "shared": share_session}


class PairingCli:
    def __init__(self, backend: Pairing) -> None:
        self.backend = backend


def test_the_person_who_says_yes_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Pairing("mallory", "ada")
    answers = {"mallory": False, "ada": True}

    def confirm(question: str, **_: object) -> bool:
        return next(answer for name, answer in answers.items() if name in question)

    monkeypatch.setattr("click.confirm", confirm)
    first_steps.pair(cast("CliContext", PairingCli(backend)), "https://t.me/bot")
    assert backend.approved == ["ada"]


def test_pairing_can_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    backend = Pairing()
    monkeypatch.setattr("time.sleep", interrupt)
    assert first_steps.pair(cast("CliContext", PairingCli(backend)), None) is None
    assert backend.approved == []
