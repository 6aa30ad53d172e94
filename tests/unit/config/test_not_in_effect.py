"""A setting that does nothing says so, and whoever sets it is told; what the others do is shown by `effects`."""

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

DENIED = "not in effect yet: these tools are there all the same"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("004-4.2-fallbacks.json", {}),
        ("004-5.2-tools-sandbox.json", {"sandbox.tools.deny": DENIED}),
        ("004-7.2-heartbeat.json", {"heartbeat": "not in effect yet: it takes none"}),
        ("004-5.2-tools-group.json", {"telegram": "not in effect yet: there is only the command line"}),
    ],
)
def test_a_block_of_the_articles_that_nothing_obeys_yet_is_told_of_as_it_is_written(
    name: str, expected: dict[str, str], tmp_path: Path
) -> None:
    assert load(FIXTURES / name, env={"HOME": "/home/somebody"}, state_dir=tmp_path).pending == expected


def test_a_sandbox_that_is_none_is_told_of_for_each_agent(load_text: LoadText) -> None:
    settings = "agents: {profiles: {open: {sandbox: trusted}, public: {sandbox: restricted, tools: {deny: [exec]}}}}"

    pending = load_text(settings).pending

    assert set(pending) == {"agents.profiles.public.sandbox", "agents.profiles.public.tools.deny"}
    assert pending["agents.profiles.public.sandbox"].endswith("every tool runs on the host")


def test_defaults_that_were_written_down_are_nothing_to_tell_of(load_text: LoadText) -> None:
    assert load_text(example()).pending == {}


def test_variables_are_told_of_by_name(load_text: LoadText) -> None:
    assert list(load_text("", env={"QDRANT_URL": "http://h:6333"}).pending) == ["environment QDRANT_URL"]


def test_check_and_show_tell_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENCLAW_CONFIG", str(tmp_path / "openclaw.yaml"))
    (tmp_path / "openclaw.yaml").write_text("tools: {deny: [exec]}\nheartbeat: {every: 5m}\n")

    def ocw(*words: str) -> str:
        return CliRunner().invoke(config, words).output

    assert f"note: tools.deny: {DENIED}\n" in ocw("check")
    assert json.loads(ocw("check", "--json"))["pending"] == {
        "heartbeat": "not in effect yet: it takes none",
        "tools.deny": DENIED,
    }
    assert ocw("show", "tools.deny").endswith("file, not in effect yet\n")
    rows = {row["path"]: row["pending"] for row in json.loads(ocw("show", "--json"))["values"]}
    assert rows["agents.defaults.heartbeat.every"] is True
    assert rows["tools.loopDetection.enabled"] is False
