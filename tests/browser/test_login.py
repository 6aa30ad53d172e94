"""Who gets in: by token or one-time link, with a cookie that scripts cannot read."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from openclaw_workers.domain.tokens import Scope
from tests.browser.conftest import OpenWindow
from tests.support.site import Site, Visitor

pytestmark = pytest.mark.needs("chromium")


def test_a_token_opens_the_page_and_signing_out_closes_it(site: Site, window: OpenWindow) -> None:
    visitor = window(site)
    visitor.log_in()

    (cookie,) = visitor.page.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("ocw_session", True, "Strict")
    assert visitor.page.evaluate("document.cookie") == ""
    visitor.page.reload()
    visitor.page.get_by_role("navigation", name="Views").wait_for()

    visitor.page.get_by_role("button", name="Sign out").click()

    visitor.page.get_by_label("Token").wait_for()


def test_a_wrong_token_is_refused_with_a_reason(site: Site, window: OpenWindow) -> None:
    visitor = window(site)
    visitor.page.goto(site.url)
    visitor.page.get_by_label("Token").fill("nonsense")
    visitor.page.get_by_role("button", name="Sign in").click()

    expect(visitor.page.get_by_role("alert")).to_contain_text("not known")
    # The browser itself notes every answer of 401.
    assert len(visitor.problems) == 1
    assert "401" in visitor.problems.pop()


def test_a_one_time_link_opens_the_page_once(site: Site, window: OpenWindow) -> None:
    token, _ = site.tokens.create(Scope.ADMIN)
    link = f"{site.url}/auth/link?code={site.logins.login_code(token.id)}"
    visitor = window(site)
    visitor.page.goto(link)
    visitor.page.get_by_role("navigation", name="Views").wait_for()

    second = window(site)
    second.page.goto(link)
    expect(second.page.get_by_role("alert")).to_contain_text("was used already")
    assert len(second.problems) == 1
    assert "401" in second.problems.pop()


def test_a_token_that_may_only_look_gets_no_way_to_write(site: Site, window: OpenWindow) -> None:
    site.fleet.outcome(site.fleet.send('{"steps": [{"text": "hello"}]}', "looked-at"))
    visitor = window(site)
    visitor.log_in(Scope.READ)
    visitor.open("/chat/agent%3Amain%3Alooked-at")

    expect(visitor.page.get_by_role("log")).to_contain_text("hello")
    expect(visitor.page.get_by_text("This token may look, not write.")).to_be_visible()
    assert visitor.page.get_by_role("button", name="Delete").count() == 0
    for view in ("runs", "fleet", "schedules", "memory", "usage"):
        visitor.open(f"/{view}")
        expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()


def test_every_view_has_names_for_its_controls(visitor: Visitor) -> None:
    for path in ("/chat", "/runs", "/fleet", "/schedules", "/memory", "/usage"):
        visitor.open(path)
        visitor.page.get_by_role("heading", level=1).first.wait_for()
        unnamed = visitor.page.evaluate(
            """() => [...document.querySelectorAll("button, a, input:not([hidden]), textarea, select")]
              .filter((each) => !(each.textContent.trim() || each.ariaLabel || each.labels?.length))
              .map((each) => each.outerHTML)"""
        )
        assert unnamed == []
