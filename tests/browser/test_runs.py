"""The tree of runs as it grows, loses a worker, is steered and stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from openclaw_workers.domain.runs import Run
from tests.browser.conftest import OpenWindow
from tests.support.faulty_workers import start_workers
from tests.support.ocw import Gate
from tests.support.programs import call, execute, program, say, spawn
from tests.support.site import Site, Visitor, open_site
from tests.support.waiting import eventually

pytestmark = pytest.mark.needs("chromium")


def children(site: Site, parent: str) -> list[Run]:
    return [run for run in site.fleet.runs() if run.parent_run_id == parent]


def test_a_fan_out_grows_in_the_tree(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    before, after = Gate(site.fleet, "before"), Gate(site.fleet, "after")
    task = program(after.step, say("a result"))
    queued = site.fleet.send(program(before.step, spawn(task, task, task), say("spawned"), say("all read")), "fan")
    visitor.open(f"/runs/{queued.run}")
    rows = page.locator(".timeline [data-run]")
    expect(rows).to_have_count(1)

    before.open()

    expect(rows).to_have_count(4)
    expect(page.locator('.timeline [data-state="running"]')).not_to_have_count(0)
    after.open()
    expect(rows).to_have_count(5)
    expect(page.locator('.timeline [data-state="ok"]')).to_have_count(5)
    expect(page.locator(".timeline")).to_contain_text("Reply to the results")
    expect(page.get_by_role("button", name="Stop tree")).to_have_count(0)


def test_the_list_of_trees_leads_to_one_and_the_keyboard_moves_in_it(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    queued = site.fleet.send(program(spawn(program(say("x")), program(say("y"))), say("ok"), say("read")), "listed")
    eventually(lambda: len(children(site, str(queued.run))) == 2, within=20)
    visitor.open("/runs?session=agent%3Amain%3Alisted")
    page.locator(".runs-table a").first.click()

    page.locator(".timeline [data-run]").first.focus()
    page.keyboard.press("ArrowDown")

    selected = page.locator('.timeline [aria-selected="true"]')
    expect(selected).to_have_attribute("aria-level", "2")
    child = selected.get_attribute("data-run")
    assert page.url.endswith(f"/runs/{queued.run}/{child}")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".timeline [data-run]")).to_have_count(1)
    visitor.open(f"/runs/{child}")
    page.wait_for_url(f"**/runs/{queued.run}/{child}")


def test_a_killed_worker_is_shown_as_a_second_attempt(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    gate = Gate(site.fleet, "killed")
    (doomed,) = start_workers(site.fleet, "main")
    queued = site.fleet.send(program(call(execute("echo one")), gate.step, say("after all")), "killed")
    carrier = site.fleet.carrier("killed")
    visitor.open(f"/runs/{queued.run}")
    row = page.locator(".timeline [data-run]")
    expect(row.locator(".bar.running")).to_have_count(1)

    carrier.kill()

    expect(row.locator(".lost")).to_have_count(1)
    expect(row.locator(".bar.running")).to_have_count(2)
    gate.open()
    expect(row).to_have_attribute("data-state", "ok")
    panel = page.get_by_label("The selected run")
    expect(panel).to_contain_text("Worker lost")
    expect(panel).to_contain_text("Resumed")
    expect(panel).to_contain_text("after all")
    expect(page.locator(".facts")).to_contain_text("resumed in")
    if carrier is not doomed:
        start_workers(site.fleet, "main")  # for the tests that follow


def test_a_run_is_steered_and_stopped_from_its_panel(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    gate = Gate(site.fleet, "panel")
    queued = site.fleet.send(program(gate.step, gate.step, say("never")), "panel")
    site.fleet.carrier("panel")
    visitor.open(f"/runs/{queued.run}")
    panel = page.get_by_label("The selected run")

    panel.get_by_role("button", name="Steer…").click()
    page.get_by_label("Message").fill("turn left")
    page.get_by_role("dialog").get_by_role("button", name="Send").click()
    expect(page.get_by_text("The message joins the run.")).to_be_visible()
    panel.get_by_role("button", name="Stop", exact=True).click()

    expect(page.locator(".timeline [data-run]")).to_have_attribute("data-state", "killed")
    expect(panel).to_contain_text("Stopped")
    gate.open()


def test_a_run_can_be_run_again(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    queued = site.fleet.send(program(say("the answer")), "again")
    site.fleet.outcome(queued)
    visitor.open(f"/runs/{queued.run}")

    page.get_by_label("The selected run").get_by_role("button", name="Rerun").click()
    page.get_by_role("dialog").get_by_role("button", name="Rerun").click()

    page.wait_for_url(lambda url: "/runs/" in url and str(queued.run) not in url)
    expect(page.locator(".timeline [data-run]")).to_have_attribute("data-state", "ok")


def test_a_parked_run_is_hatched(site: Site, window: OpenWindow) -> None:
    visitor = window(site, theme="dark")
    visitor.log_in()
    gate = Gate(site.fleet, "parked")
    inner = program(spawn(program(gate.step, say("deep"))), say("waiting"), say("done"))
    queued = site.fleet.send(program(spawn(inner), say("ok"), say("read")), "parked")
    visitor.open(f"/runs/{queued.run}")

    expect(visitor.page.locator('.timeline [data-state="parked"] .bar.parked')).to_have_count(1)
    gate.open()
    expect(visitor.page.locator('.timeline [data-state="parked"]')).to_have_count(0)
    expect(visitor.page.locator(".timeline .bar.parked")).to_have_count(1)


def test_a_planted_secret_is_masked_in_the_chat_and_in_the_panel(tmp_path: Path, window: OpenWindow) -> None:
    planted = "planted-51c8-value"
    config = {"secrets": {"TOKEN": {"value": planted, "tools": ["exec"]}}}
    with open_site(tmp_path / "fleet", config) as site:
        start_workers(site.fleet, "main")
        queued = site.fleet.send(program(call(execute("echo it is $TOKEN")), say("it was shown")), "secret")
        assert site.fleet.outcome(queued).receipt.state == "answered"
        visitor = window(site)
        visitor.log_in()

        visitor.open(f"/runs/{queued.run}")
        expect(visitor.page.get_by_label("The selected run")).to_contain_text("it is ")
        seen = [visitor.page.content()]
        visitor.open("/chat/agent%3Amain%3Asecret")
        expect(visitor.page.get_by_text("it was ")).not_to_have_count(0)
        seen.append(visitor.page.content())
        visitor.page.goto("about:blank")  # it would miss its site
    assert [planted in page for page in seen] == [False, False]
