"""Fleet and usage, connections that break, and narrow windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.store.outbox_records import Account, PartOutcome
from tests.browser.conftest import OpenWindow
from tests.support.faulty_workers import start_workers
from tests.support.programs import program, say
from tests.support.site import PHONE, Site, Visitor, open_site

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    """For tests that break something."""
    with open_site(tmp_path / "fleet") as found:
        yield found


def test_workers_lanes_and_usage_are_shown(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    site.fleet.outcome(site.fleet.send(program(say("counted")), "counted"))
    visitor.open("/fleet")
    expect(page.locator(".lane")).to_have_count(3)
    expect(page.locator(".host li")).to_have_count(3)
    expect(page.get_by_role("alert")).to_have_count(0)

    page.get_by_role("link", name="Usage").click()

    expect(page.locator(".usage-table")).to_contain_text("offline/script")
    expect(page.locator(".chart .seg")).not_to_have_count(0)
    page.get_by_role("button", name="Agent").click()
    expect(page.locator(".usage-table tbody")).to_contain_text("main")


def test_a_failed_message_is_sent_again_or_dropped(site: Site, visitor: Visitor) -> None:
    page, outbox = visitor.page, site.fleet.stores.outbox
    for name in ("lost", "kept"):
        route = Route(channel="telegram", account_id="bot", to=name)
        outbox.put(OutgoingMessage(id=name, kind=OutgoingKind.REPLY, route=route, text=f"text of {name}"))
    for claim in outbox.claim([Account("telegram", "bot")], lease_ms=5000, most=10).claims:
        outbox.sending(claim, 0, ['{"text":"one"}'], lease_ms=5000)
        outbox.record(claim, 0, PartOutcome.FAILED, lease_ms=5000, error="bot was blocked")
    visitor.open("/fleet")
    lost, kept = (page.locator(".outbox tr", has_text=name) for name in ("text of lost", "text of kept"))
    expect(lost).to_contain_text("bot was blocked")

    lost.get_by_role("button", name="Drop").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop").click()
    kept.get_by_role("button", name="Retry").click()

    expect(lost).to_have_count(0)
    expect(kept).to_contain_text("queued")
    page.get_by_role("button", name="Sent and dropped too").click()
    expect(lost).to_contain_text("dropped")


def test_a_bot_without_a_receiver_is_shown(tmp_path: Path, window: OpenWindow) -> None:
    bot = {"channels": {"telegram": {"botToken": "42:token", "apiRoot": "http://127.0.0.1:1/", "enabled": False}}}
    with open_site(tmp_path / "fleet", bot) as found:
        visitor = window(found)
        visitor.log_in()
        visitor.open("/fleet")
        row = visitor.page.get_by_role("region", name="Channels").locator("tbody tr")
        expect(row).to_contain_text("telegram")
        expect(row).to_contain_text("off")
        visitor.page.context.close()  # before its ingress ends


def test_a_person_who_asks_is_let_in(site: Site, visitor: Visitor) -> None:
    page, pairings = visitor.page, site.fleet.stores.pairings
    subject = Subject("telegram", person_id="5")
    pairings.request(subject, name="Ada", message_id="1")
    visitor.open("/fleet")
    page.locator("tr", has_text="Ada").get_by_role("button", name="Approve").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()

    expect(page.get_by_text("Ada is let in.")).to_be_visible()
    assert subject in pairings.admitted([subject])


def test_a_lane_without_a_worker_is_announced_until_one_comes(own_site: Site, window: OpenWindow) -> None:
    start_workers(own_site.fleet, "main", "service")
    visitor = window(own_site)
    visitor.log_in()
    banner = visitor.page.get_by_role("alert")
    expect(banner).to_contain_text("No worker serves the lane subagent")

    start_workers(own_site.fleet, "subagent")

    expect(banner).to_have_count(0)


def test_the_page_says_that_the_connection_is_lost_and_finds_back(own_site: Site, window: OpenWindow) -> None:
    start_workers(own_site.fleet, "main", "subagent", "service")
    visitor = window(own_site)
    visitor.log_in()
    visitor.chat("lost")
    expect(visitor.page.get_by_text("Live", exact=True)).to_be_visible()
    own_site.ingress.process.kill()
    expect(visitor.page.get_by_role("alert")).to_contain_text("Connection lost")
    own_site.restart_ingress()

    expect(visitor.page.get_by_role("alert")).to_have_count(0, timeout=30_000)
    visitor.send('{"steps": [{"text": "still here"}]}')
    expect(visitor.page.locator(".msg.assistant")).to_contain_text("still here")
    # While nobody served the address, the browser noted each refused connection.
    assert all("ERR_CONNECTION" in each or "ERR_INCOMPLETE" in each for each in visitor.problems), visitor.problems
    visitor.problems.clear()


def test_nothing_sticks_out_of_a_phone(site: Site, window: OpenWindow) -> None:
    queued = site.fleet.send(program(say("a | b\n---|---\n1 | 2\n\n" + "long" * 60)), "narrow")
    site.fleet.outcome(queued)
    visitor = window(site, size=PHONE)
    visitor.log_in()
    views = ("/runs", "/fleet", "/schedules", "/memory", "/usage")
    for path in ("/chat/agent%3Amain%3Anarrow", f"/runs/{queued.run}", *views):
        visitor.open(path)
        visitor.page.get_by_role("heading", level=1).first.wait_for()
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
    visitor.page.get_by_role("button", name="Sessions").click()
    visitor.page.get_by_role("link", name="narrow").click()
    expect(visitor.page.get_by_role("log")).to_be_visible()


def test_the_theme_follows_the_system_and_the_button(site: Site, window: OpenWindow) -> None:
    visitor = window(site, theme="dark")
    visitor.log_in()
    theme = "document.documentElement.dataset.theme"
    assert visitor.page.evaluate(theme) == "dark"
    visitor.page.get_by_role("button", name="Light or dark").last.click()
    assert visitor.page.evaluate(theme) == "light"
    visitor.page.reload()
    assert visitor.page.evaluate(theme) == "light"
