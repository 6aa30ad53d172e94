"""`ocw skills` and what `ocw config check` says of skills, on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw_workers.cli.main import run
from openclaw_workers.cli.output import Exit
from tests.component.skills.conftest import put


class Cli:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def __call__(self, *words: str, code: Exit = Exit.OK) -> tuple[str, str]:
        config = ("--config", str(self._folder / "openclaw.yaml"), "--state-dir", str(self._folder / "state"))
        self._capsys.readouterr()
        try:
            found = run([*config, *words])
        except SystemExit as ended:
            found = int(str(ended.code))
        assert found == code
        return self._capsys.readouterr()

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json")[0])


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    skills = {"entries": {"wether": {}}, "allowBundled": ["weather", "reporter"]}
    (tmp_path / "openclaw.yaml").write_text(yaml.safe_dump({"skills": skills}))
    return Cli(tmp_path, capsys)


def test_a_wrong_name_is_a_warning_with_the_nearest_one(cli: Cli) -> None:
    warning = "skills.entries.wether: there is no skill 'wether'; did you mean 'weather'?"
    assert warning in cli("config", "check")[1]
    assert warning in cli("skills", "list")[1]
    assert cli.json("skills", "list")["warnings"] == [warning]


def test_skills_are_listed_with_the_reason_if_they_are_not_offered(cli: Cli) -> None:
    offered, _ = cli("skills", "list")
    every, _ = cli("skills", "list", "--all")
    assert "reporter" in offered
    assert "skill-writer" not in offered
    assert "not offered: not in skills.allowBundled" in every
    assert "# Reporter" in cli("skills", "show", "reporter")[0]
    assert "did you mean 'reporter'" in cli("skills", "show", "reportr", code=Exit.NOT_FOUND)[1]


def test_nothing_is_added_before_it_was_shown_and_confirmed(cli: Cli, tmp_path: Path) -> None:
    source = put(tmp_path / "from", "fresh").parent
    shown, _ = cli("skills", "add", str(source), code=Exit.USAGE)
    assert "SKILL.md" in shown
    assert not (tmp_path / "state" / "skills").exists()
    cli("skills", "add", str(source), "--yes")
    assert "fresh" in cli("skills", "list")[0]
    cli("skills", "add", str(source), "--yes", code=Exit.REFUSED)
    cli("skills", "add", str(source), "--yes", "--replace")


def test_a_new_skill_is_offered_and_a_broken_one_is_reported(cli: Cli, tmp_path: Path) -> None:
    path = Path(cli.json("skills", "new", "notes", "--description", "Keep: notes")["path"])
    assert path == tmp_path / "state" / "workspace" / "skills" / "notes" / "SKILL.md"
    assert "Keep: notes" in cli("skills", "list")[0]
    assert "all skills can be read" in cli("skills", "check")[0]
    path.write_text("no frontmatter")
    assert "does not begin with frontmatter" in cli("skills", "check", code=Exit.RUN_FAILED)[0]
