"""Hooks of pytest: tests that need a program of the machine, and a last line that names what was left out.

    @pytest.mark.needs("chromium")

A test with this marker is left out where the program is missing. With CI=true in the environment it fails instead.
Where the kernel refuses what the program needs, it is left out with the reason that the kernel gives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path

import pytest

from openclaw_workers.sandbox.bubblewrap import Bubblewrap
from openclaw_workers.tools.shell.start import run_briefly


def _on_path(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _why_bubblewrap_is_refused() -> str:
    """Inside some containers bwrap is installed, but the kernel refuses its namespaces. Found as workers find it."""
    with tempfile.TemporaryDirectory() as directory:
        available = Bubblewrap(Path(directory), run_briefly).availability()
    return "" if available.is_available else available.reason


def _networks_work() -> bool:
    """Making a network namespace needs the rights of root, and a kernel that allows it."""
    name = f"ocw-probe-{os.getpid()}"
    try:
        added = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False, timeout=30)
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    return added.returncode == 0


PROGRAMS: dict[str, Callable[[], bool]] = {
    "bubblewrap": _on_path("bwrap"),
    "chromium": _on_path("chromium", "chromium-browser", "google-chrome"),
    "curl": _on_path("curl"),
    "mcp-server-everything": _on_path("mcp-server-everything"),
    "mcp-server-time": _on_path("mcp-server-time"),
    "networks": cache(_networks_work),
    "ripgrep": _on_path("rg"),
}

REFUSALS: dict[str, Callable[[], str]] = {"bubblewrap": cache(_why_bubblewrap_is_refused)}
"""Why a program that is installed cannot work on this machine; "" if it can. No installation can help, so its tests are
left out with this reason, also with CI=true."""


def pytest_configure(config: pytest.Config) -> None:
    names = ", ".join(PROGRAMS)
    config.addinivalue_line("markers", f"needs(*programs): leave the test out where one is missing ({names})")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if unknown := sorted(needs(item) - PROGRAMS.keys()):
            expected = ", ".join(PROGRAMS)
            raise pytest.UsageError(f"{item.nodeid} needs {', '.join(unknown)}; expected one of {expected}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = [name for name in sorted(needs(item)) if not PROGRAMS[name]()]
    if not missing:
        refusals = [why for name in sorted(needs(item)) if name in REFUSALS and (why := REFUSALS[name]())]
        if refusals:
            pytest.skip("; ".join(refusals))
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{' and '.join(missing)} must be installed and work, because CI=true", pytrace=False)
    pytest.skip(f"no {' and no '.join(missing)}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """After pytest's own last line, say which tests were skipped because something they need is missing."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a process of xdist, which reports to the first one
        return
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reporter.stats.get("skipped", []))
    if reasons:
        reporter.write_line("left out: " + "; ".join(f"{reason} ({count})" for reason, count in reasons.items()))


def needs(item: pytest.Item) -> set[str]:
    """The programs that the markers of a test, its class and its module name."""
    return {name for mark in item.iter_markers("needs") for name in mark.args}
