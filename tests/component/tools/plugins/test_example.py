"""The example package: its entry point is found, and its own tests pass."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from openclaw_workers.config.plugins import PluginsSettings
from openclaw_workers.tools.catalog import reserved_names
from openclaw_workers.tools.plugins.load import load_plugins

EXAMPLE = Path(__file__).parents[4] / "examples" / "text-tools"


def test_its_entry_point_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "text_tools-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    ((name, value),) = project["entry-points"]["openclaw_workers.plugins"].items()
    (info / "entry_points.txt").write_text(f"[openclaw_workers.plugins]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(EXAMPLE))

    plugins = load_plugins(PluginsSettings(), reserved_names())

    (plugin,) = (plugin for plugin in plugins.all if plugin.imported.name == "text-tools")
    assert plugin.imported.origin == "text-tools 1.0"
    assert {tool.name for tool in plugin.tools} == {"count_words", "save_note", "wait_a_little", "draw_square"}


def test_its_own_tests_pass() -> None:
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "--rootdir",
        str(EXAMPLE),
    ]
    done = subprocess.run(
        [*argv, str(EXAMPLE / "tests")], env={"PYTHONPATH": str(EXAMPLE)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
