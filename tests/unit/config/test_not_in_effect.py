"""A setting without effect says so, and setting it gives a warning; `effects` names the tests of all others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openclaw_workers.cli.commands.config import config
from openclaw_workers.config.example import example
from openclaw_workers.config.loader import ACCEPT_OPTION, ENVIRONMENT, load
from openclaw_workers.errors import ConfigurationError
from tests.unit.config.conftest import LoadText
from tests.unit.config.test_articles import FIXTURES

DENIED = "not in effect yet: these tools are still offered"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("004-4.2-fallbacks.json", {}),
        ("004-5.2-tools-sandbox.json", {"sandbox.tools.deny": DENIED}),
        ("004-7.2-heartbeat.json", {}),
        (
            "004-5.2-tools-group.json",
            {
                "telegram.groups[0].tools.allow": (
                    "not in effect yet: a session has every tool that its place in the tree allows"
                )
            },
        ),
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


def test_a_setting_that_repeats_its_default_is_also_reported(load_text: LoadText) -> None:
    assert load_text("tools: {alsoAllow: []}").not_in_effect == {"tools.alsoAllow": "not in effect yet"}


def test_writing_all_defaults_does_not_stop_a_start(load_text: LoadText) -> None:
    loaded = load_text(example())

    assert "tools.alsoAllow" in loaded.not_in_effect
    assert loaded.unenforced == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("tools: {deny: [exec]}", "tools.deny"),
        ("tools: {allow: [read]}", "tools.allow"),
        ("tools: {profile: minimal}", "tools.profile"),
        ("tools: {byProvider: {openai: {deny: [exec]}}}", "tools.byProvider"),
        ("tools: {subagents: {tools: {deny: [exec]}}}", "tools.subagents.tools.deny"),
        ("sandbox: {mode: non-main}", "sandbox.mode"),
        ("sandbox: {tools: {deny: [exec]}}", "sandbox.tools.deny"),
        ("sandbox: restricted", "sandbox"),
        ("agents: {list: [{id: main, tools: {deny: [exec]}}]}", "agents.list[0].tools.deny"),
        ("agents: {profiles: {main: {sandbox: {mode: all}}}}", "agents.profiles.main.sandbox.mode"),
    ],
)
def test_an_ineffective_tool_restriction_stops_a_start(text: str, path: str, load_text: LoadText) -> None:
    loaded = load_text(text)

    assert loaded.unenforced == (path,)
    with pytest.raises(ConfigurationError) as refused:
        loaded.require_enforced()
    assert refused.value.problems == [f"{path}: {loaded.not_in_effect[path]}"]
    assert ACCEPT_OPTION in (refused.value.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tools: {deny: [], allow: [], profile: full}",
        "sandbox: trusted",
        "sandbox: {mode: 'off', scope: session}",
        "tools: {byProvider: {openai: {alsoAllow: [read]}}}",
        "contextPruning: {tools: {deny: [exec]}}",
        "agents: {defaults: {skills: [weather]}}",
    ],
)
def test_other_ineffective_settings_do_not_stop_a_start(text: str, load_text: LoadText) -> None:
    load_text(text).require_enforced()


@pytest.mark.parametrize("variable", ENVIRONMENT)
def test_every_environment_variable_is_in_effect(variable: str, load_text: LoadText) -> None:
    value = "redis://h:6379/0" if variable == "REDIS_URL" else "http://h:6333" if variable.endswith("URL") else "t"
    loaded = load_text("", env={variable: value})
    assert f"environment {variable}" in loaded.origins.values()
    assert not loaded.not_in_effect


def test_check_and_show_report_ineffective_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENCLAW_CONFIG", str(tmp_path / "openclaw.yaml"))
    (tmp_path / "openclaw.yaml").write_text("tools: {deny: [exec]}\n")

    def ocw(*words: str) -> str:
        return CliRunner().invoke(config, words).output

    assert f"note: tools.deny: {DENIED}\n" in ocw("check")
    assert json.loads(ocw("check", "--json"))["pending"] == {"tools.deny": DENIED}
    assert json.loads(ocw("check", "--json"))["unenforced"] == ["tools.deny"]
    assert f"start with tools.deny only if {ACCEPT_OPTION} is given\n" in ocw("check")
    assert ocw("show", "tools.deny").endswith("file, not in effect yet\n")
    rows = {row["path"]: row["pending"] for row in json.loads(ocw("show", "--json"))["values"]}
    assert rows["tools.deny"] is True
    assert rows["tools.loopDetection.enabled"] is False
