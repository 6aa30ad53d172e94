"""`.ci/run` in a small project with our script and Makefile, other tests, and fake linters."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

INSTALLED = {
    "redis-server": "redis-server",
    "chromium": "chromium",
    "bwrap": "bubblewrap",
    "rg": "ripgrep",
    "curl": "curl",
    "ip": "iproute2",
    "npm": "npm",
}
"""The Debian package of each program that `.ci/run` installs."""

MCP_SERVERS = ("mcp-server-everything", "mcp-server-time")

FLAKY = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", [{names}])
def test_flaky(name):
    seen = Path(f"seen {{name}}")
    first = not seen.exists()
    seen.touch()
    assert not first
"""
PASSING = "def test_passing(): pass"
FAILING = "def test_failing(): assert False"
SKIPPED = """
import pytest
@pytest.mark.skip(reason="no zsh")
def test_skipped(): pass
@pytest.mark.skip(reason="no zsh")
def test_skipped_too(): pass
"""
FLAKY_IMPORT = """
import os
if "PYTEST_XDIST_WORKER" in os.environ:
    raise ImportError("only alone")
def test_imported(): pass
"""
# Only in the first run, after a test has failed.
INTERNAL_ERROR = """
import sys
def pytest_runtest_logreport(report):
    if report.when == "teardown" and "worksteal" in sys.argv:
        raise RuntimeError("pytest ends before its last test")
"""


def flaky(*names: str) -> str:
    return FLAKY.format(names=", ".join(map(repr, names)))


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".ci").mkdir()
        (root / "tests").mkdir()
        shutil.copy(ROOT / ".ci" / "run", root / ".ci" / "run")
        shutil.copy(ROOT / "Makefile", root)
        (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\ntestpaths = ['tests']\n")
        (root / "constraints.txt").write_text("")
        (root / ".venv" / "bin").mkdir(parents=True)
        for name in ("ruff", "mypy", "lint-imports", *INSTALLED, *MCP_SERVERS):
            self.program(name, "exit 0")
        self.program("python", f'exec {sys.executable} "$@"')
        self.program("pytest", f'printf "%s\\n" "$*" >> started; exec {sys.executable} -m pytest "$@"')
        (root / ".venv" / ".installed-tools").touch()  # newer than its sources, so nothing is installed

    def program(self, name: str, body: str) -> None:
        path = self.root / ".venv" / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def test(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / "tests" / f"{name}.py").write_text(text)

    def run(self, path: str = os.environ["PATH"]) -> tuple[int, str]:
        theirs = ("PYTEST", "MAKE", "MFLAGS", "COV", "CI")  # of the suite that runs this test
        env = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
        # The programs of the project come first on the path, so that none is installed.
        env |= {"JOBS": "2", "PATH": f"{self.root}/.venv/bin:{path}"}
        done = subprocess.run(
            [self.root / ".ci" / "run"],
            cwd=self.root.parent,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def started(self) -> list[str]:
        return (self.root / "started").read_text().splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project")


def named_flaky(output: str) -> list[str]:
    return re.findall(r"^flaky: (.*)$", output, re.MULTILINE)


def test_when_all_pass_nothing_is_repeated(project: Project) -> None:
    project.test(test_a=PASSING)

    code, output = project.run()

    assert code == 0, output
    assert len(project.started()) == 1
    assert named_flaky(output) == []


def test_five_tests_that_pass_when_repeated_alone_are_named_as_flaky(project: Project) -> None:
    project.test(test_a=PASSING, test_b=flaky("a", "b c", "d::e [f]"), test_c=FLAKY_IMPORT, test_d=flaky("g"))

    code, output = project.run()

    assert code == 0, output
    found = ["tests/test_b.py::test_flaky[a]", "tests/test_b.py::test_flaky[b c]"]
    found += ["tests/test_b.py::test_flaky[d::e [f]]", "tests/test_c.py", "tests/test_d.py::test_flaky[g]"]
    assert sorted(named_flaky(output)) == found
    assert sorted(project.started()[1:]) == found, "not each alone, in its own pytest"
    assert "1 passed" in output, "an error at collection kept other tests from running"


@pytest.mark.parametrize("other", [PASSING, flaky("a")], ids=["passing", "flaky"])
def test_the_last_line_says_what_was_left_out(project: Project, other: str) -> None:
    project.test(conftest=(ROOT / "tests" / "support" / "left_out.py").read_text(), test_a=SKIPPED, test_b=other)

    code, output = project.run()

    assert code == 0, output
    assert output.splitlines()[-1] == "left out: no zsh (2)"


def test_missing_programs_are_installed_and_required(project: Project, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "cat", "dirname", "grep", "make", "mktemp", "rm", "sh", "tee"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    for name in INSTALLED:
        (project.root / ".venv" / "bin" / name).unlink()
    project.program("id", "echo 0")
    project.program("apt-get", 'echo "$*" >> apt; [ "$5" != chromium ]')
    project.test(test_a="import os\ndef test_required(): assert os.environ['CI'] == 'true'")

    code, output = project.run(path=str(tmp_path / "bin"))

    assert code == 0, output
    installed = [line.split()[-1] for line in (project.root / "apt").read_text().splitlines() if "install" in line]
    assert installed == list(INSTALLED.values())
    assert "apt-get did not install chromium" in output


def test_missing_mcp_servers_are_installed_below_the_environment(project: Project, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "cat", "chmod", "dirname", "grep", "make", "mkdir", "mktemp", "rm", "sh", "tee"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    for name in MCP_SERVERS:
        (project.root / ".venv" / "bin" / name).unlink()
    servers = project.root / ".venv" / "mcp-servers"
    write = 'mkdir -p "${0%/*}"; printf "#!/bin/sh\\n" > "$0"; chmod +x "$0"'
    make_server = f"sh -c '{write}' {servers}/node_modules/.bin/mcp-server-everything"
    pip = f"echo \"$*\" > pip; sh -c '{write}' {servers}/python/bin/mcp-server-time"
    (tmp_path / "pip").write_text(f"#!/bin/sh\n{pip}\n")
    project.program("npm", f'echo "$*" > npm; {make_server}')
    project.program("python3", f'mkdir -p "$3/bin"; cat {tmp_path}/pip > "$3/bin/python"; chmod +x "$3/bin/python"')
    project.test(
        test_a=f"import shutil\ndef test_found():\n    assert all(shutil.which(name) for name in {MCP_SERVERS})"
    )

    code, output = project.run(path=str(tmp_path / "bin"))

    assert code == 0, output
    assert "@modelcontextprotocol/server-everything@" in (project.root / "npm").read_text()
    assert "mcp-server-time==" in (project.root / "pip").read_text()


@pytest.mark.parametrize("failing", [FAILING, "import no_such_module"], ids=["test", "collection"])
def test_a_test_that_fails_twice_fails_the_run_and_flaky_tests_are_named(project: Project, failing: str) -> None:
    project.test(test_a=failing, test_b=flaky("a"))

    code, output = project.run()

    assert code != 0
    assert named_flaky(output) == ["tests/test_b.py::test_flaky[a]"]
    assert len(project.started()) == 3


def test_six_failures_are_not_repeated(project: Project) -> None:
    project.test(test_a=flaky("a", "b", "c", "d", "e", "f"))

    code, output = project.run()

    assert code != 0
    assert len(project.started()) == 1
    assert "6 tests failed" in output


def test_a_type_error_fails_the_run(project: Project) -> None:
    project.test(test_a=PASSING)
    project.program("mypy", "exit 1")

    code, output = project.run()

    assert code != 0
    assert "lint] Error 1" in output


def test_failures_of_an_earlier_run_are_not_repeated(project: Project) -> None:
    project.test(test_a=FAILING)
    project.run()
    (project.root / "tests" / "test_a.py").unlink()
    project.test(test_b=flaky("a"))

    code, output = project.run()

    assert code == 0, output
    assert named_flaky(output) == ["tests/test_b.py::test_flaky[a]"]


def test_an_aborted_run_fails_without_repeating_tests(project: Project) -> None:
    project.test(conftest=INTERNAL_ERROR, test_a=flaky("a"))

    code, output = project.run()

    assert code != 0, output
    assert "INTERNALERROR" in output
    assert named_flaky(output) == []
