"""A Chromium for each process of the suite, a site for each module, and a clean window for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.faulty_workers import start_workers
from tests.support.site import DESKTOP, Site, Visitor, chromium, open_site

OpenWindow = Callable[..., Visitor]

expect.set_options(timeout=20_000)


# Not for the whole session: while it is open, an event loop runs in this thread, and other tests need one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A worker for each lane; each test uses sessions of its own."""
    with open_site(tmp_path_factory.mktemp("site") / "fleet") as found:
        start_workers(found.fleet, "main", "subagent", "service")
        yield found


@pytest.fixture
def window(browser: Browser) -> Iterator[OpenWindow]:
    """Opens windows. At the end, none has logged an error or asked another host for anything."""
    visitors: list[Visitor] = []

    def open_window(site: Site, *, size: dict[str, int] = DESKTOP, theme: str = "light") -> Visitor:
        context = browser.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
        context.set_default_timeout(15_000)
        visitor = Visitor(site, context.new_page())
        visitor.watch()
        visitors.append(visitor)
        return visitor

    yield open_window
    for visitor in visitors:
        visitor.page.context.close()
    assert [problem for visitor in visitors for problem in visitor.problems] == []


@pytest.fixture
def visitor(site: Site, window: OpenWindow) -> Visitor:
    """Logged in as the owner."""
    found = window(site)
    found.log_in()
    return found
