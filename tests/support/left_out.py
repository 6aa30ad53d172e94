"""A hook of pytest: the last line of a run names what was missing, if tests were skipped for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import pytest


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
