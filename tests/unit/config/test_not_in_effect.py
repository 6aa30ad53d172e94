"""A setting without effect says so, and setting it gives a warning; `effects` names the tests of all others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openclaw_workers.cli.commands.config import config
from openclaw_workers.config.example import example
from openclaw_workers.config.loader import load
from tests.unit.config.conftest import LoadText
from tests.unit.config.test_articles import FIXTURES

DENIED = "not in effect yet: these tools are still offered"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("004-4.2-fallbacks.json", {}),
        ("004-5.2-tools-sandbox.json", {"sandbox.tools.deny": DENIED}),
        ("004-7.2-heartbeat.json", {"heartbeat": "not in effect yet: it starts none"}),
        ("004-5.2-tools-group.json", {"telegram": "not in effect yet: there is only the command line"}),
    ],
)
def test_an_ineffective_block_is_reported_under_the_path_in_the_file(
    name: str, expected: dict[str, str], tmp_path: Path
) -> None:
    assert load(FIXTURES / name, env={"HOME": "/home/somebody"}, state_dir=tmp_path).not_in_effect == expected


def test_an_ineffective_sandbox_is_reported_for_each_agent(load_text: LoadText) -> None:
    settings = "agents: {profiles: {open: {sandbox: trusted}, public: {sandbox: restricted, tools: {deny: [exec]}}}}"

    reported = load_text(settings).not_in_effect

    assert set(reported) == {"agents.profiles.public.sandbox", "agents.profiles.public.tools.deny"}
    assert reported["agents.profiles.public.sandbox"].endswith("every tool runs on the host")


def test_ineffective_settings_at_their_default_are_not_reported(load_text: LoadText) -> None:
    assert load_text(example()).not_in_effect == {}


def test_an_ineffective_environment_variable_is_reported_by_name(load_text: LoadText) -> None:
    assert list(load_text("", env={"QDRANT_URL": "http://h:6333"}).not_in_effect) == ["environment QDRANT_URL"]


def test_check_and_show_report_ineffective_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENCLAW_CONFIG", str(tmp_path / "openclaw.yaml"))
    (tmp_path / "openclaw.yaml").write_text("tools: {deny: [exec]}\nheartbeat: {every: 5m}\n")

    def ocw(*words: str) -> str:
        return CliRunner().invoke(config, words).output

    assert f"note: tools.deny: {DENIED}\n" in ocw("check")
    assert json.loads(ocw("check", "--json"))["pending"] == {
        "heartbeat": "not in effect yet: it starts none",
        "tools.deny": DENIED,
    }
    assert ocw("show", "tools.deny").endswith("file, not in effect yet\n")
    rows = {row["path"]: row["pending"] for row in json.loads(ocw("show", "--json"))["values"]}
    assert rows["agents.defaults.heartbeat.every"] is True
    assert rows["tools.loopDetection.enabled"] is False
