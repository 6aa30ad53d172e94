"""A fleet with an ingress, and a real Chromium that looks at its page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, sync_playwright

from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.browser_logins import BrowserLogins
from openclaw_workers.store.tokens import Tokens
from tests.support.fleet import Fleet
from tests.support.ingress import Ingress, in_path, new_token, start_ingress

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}


@dataclass(slots=True)
class Site:
    """A fleet whose ingress serves the page."""

    fleet: Fleet
    ingress: Ingress

    @property
    def url(self) -> str:
        return self.ingress.url

    @property
    def tokens(self) -> Tokens:
        return self.fleet.stores.tokens

    @property
    def logins(self) -> BrowserLogins:
        return self.fleet.stores.browser_logins

    def restart_ingress(self) -> None:
        """At the same address."""
        self.ingress = start_ingress(self.fleet, "--port", str(self.ingress.address[1]))


@contextmanager
def open_site(directory: Path, config: dict[str, Any] | None = None) -> Iterator[Site]:
    with Fleet(directory, config) as fleet:
        yield Site(fleet, start_ingress(fleet))


@contextmanager
def chromium() -> Iterator[Browser]:
    driver: Playwright
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visitor:
    """One person with one browser window, and everything that went wrong in it."""

    site: Site
    page: Page
    problems: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        self.page.on("request", self._request)

    def log_in(self, scope: Scope = Scope.ADMIN) -> None:
        self.page.goto(self.site.url)
        self.page.get_by_label("Token").fill(new_token(self.site.fleet, scope))
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("navigation", name="Views").wait_for()

    def open(self, path: str) -> None:
        self.page.goto(self.site.url + path)

    def chat(self, session: str = "main") -> None:
        self.open(f"/chat/{in_path(f'agent:main:{session}')}")
        self.message.wait_for()

    def send(self, text: str) -> None:
        self.message.fill(text)
        self.message.press("Enter")

    @property
    def message(self) -> Any:
        return self.page.get_by_role("combobox", name="Message")

    def _console(self, message: ConsoleMessage) -> None:
        # Chromium says so whenever any process of the machine makes or removes a network interface.
        if "ERR_NETWORK_CHANGED" in message.text:
            return
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if request.url.startswith(("data:", "blob:")):
            return
        if urlsplit(request.url).netloc != urlsplit(self.site.url).netloc:
            self.problems.append(f"request to another host: {request.url}")
