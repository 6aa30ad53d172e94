"""The built wheel, installed into an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "docs", "openclaw_workers", "ingress")


def ran(*argv: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def ocw(tmp_path: Path) -> Path:
    """The command of an environment with the wheel, in which only the libraries are those of this one."""
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, sources / name)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    ran(*pip, "wheel", ".", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, cwd=sources)
    [wheel] = tmp_path.glob("*.whl")
    shutil.rmtree(sources)
    place = tmp_path / "installed"
    venv.create(place, symlinks=True)
    ran(*pip, "--python", place / "bin" / "python", "install", "-q", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # A path in such a file is added as it is: the editable installation of this environment is not seen.
    [packages] = place.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin" / "ocw"


def test_an_installed_wheel_serves_from_any_directory(ocw: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    hidden = ("OPENCLAW_", "REDIS_URL", "ANTHROPIC_", "OPENAI_", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    env["HOME"] = str(elsewhere)
    try:
        ready = json.loads(ran(ocw, "up", "--detach", "--no-flower", "--json", cwd=elsewhere, env=env))
        answer = json.loads(ran(ocw, "agent", "-m", "hello", "--json", cwd=Path("/"), env=env))
        assert "offline/demo" in answer["text"]
        with urllib.request.urlopen(f"{ready['ingressUrl']}/", timeout=10) as page:
            assert page.status == 200
        skills = json.loads(ran(ocw, "skills", "list", "--json", cwd=Path("/"), env=env))["skills"]
        assert skills, "those that come with the package are installed with it"
        where = ran(ocw.with_name("python"), "-P", "-c", "import ingress; print(ingress.__file__)", cwd=ROOT, env=env)
        assert where.startswith(str(ocw.parents[1]))
    finally:
        ran(ocw, "down", cwd=elsewhere, env=env)
