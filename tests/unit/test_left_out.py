"""The marker `needs`, and the last line of a test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import left_out

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.needs("{needed}")
def test_marked(): pass

def test_plain(): pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with these hooks, on a machine without any program."""
    pytester.makeconftest(Path(left_out.__file__).read_text())
    monkeypatch.setenv("PATH", str(pytester.path))
    monkeypatch.delenv("CI", raising=False)
    return pytester


def outcome(run: pytest.Pytester, needed: str) -> pytest.RunResult:
    run.makepyfile(TESTS.format(needed=needed))
    return run.runpytest_inprocess("-p", "no:cacheprovider")


def test_a_test_is_left_out_where_its_program_is_missing(run: pytest.Pytester) -> None:
    result = outcome(run, "chromium")

    result.assert_outcomes(passed=1, skipped=1)
    assert result.outlines[-1] == "left out: no chromium (1)"


@pytest.mark.parametrize("program", ["chromium", "mcp-server-everything", "mcp-server-time"])
def test_in_ci_a_test_fails_where_its_program_is_missing(
    run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setenv("CI", "true")

    result = outcome(run, program)

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*{program} must be installed and work, because CI=true*"])


def test_a_test_runs_where_its_program_is_installed(run: pytest.Pytester) -> None:
    (run.path / "rg").touch(mode=0o755)

    result = outcome(run, "ripgrep")

    result.assert_outcomes(passed=2)
    assert "left out" not in result.stdout.str()


def test_an_unknown_program_is_refused(run: pytest.Pytester) -> None:
    result = outcome(run, "chrome")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_marked needs chrome; expected one of bubblewrap, chromium, *"])


def test_a_test_is_left_out_with_the_reason_where_the_kernel_refuses_its_program(
    run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    refused = 'REFUSALS["bubblewrap"] = lambda: "the kernel refuses it"'
    run.makeconftest(f"{Path(left_out.__file__).read_text()}\n{refused}\n")
    (run.path / "bwrap").touch(mode=0o755)

    result = outcome(run, "bubblewrap")

    result.assert_outcomes(passed=1, skipped=1)
    assert result.outlines[-1] == "left out: the kernel refuses it (1)"
