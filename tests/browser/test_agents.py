"""Schedules and memory: jobs are added and run, files are read and searched, citations lead to their lines."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.support.programs import as_text, program, say
from tests.support.site import Site, Visitor

pytestmark = pytest.mark.needs("chromium")

NOTES = "# Things to keep\n- the wifi of the cabin is blue-pot\n- the boat is in the shed\n"


def test_a_job_is_added_run_paused_and_removed(visitor: Visitor) -> None:
    page = visitor.page
    page.get_by_role("link", name="Schedules").click()
    expect(page.get_by_text("No jobs yet")).to_be_visible()

    page.get_by_role("button", name="Add a job").click()
    page.get_by_label("Name").fill("report")
    page.get_by_label(re.compile("Time")).fill("1h")
    page.get_by_label("What the agent is asked").fill(as_text(program(say("reported"))))
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    row = page.locator(".jobs tbody tr").first
    expect(row).to_contain_text("report")
    expect(row).to_contain_text(re.compile(r"in \d+ m"))

    row.get_by_role("button", name="Run now").click()
    row.get_by_role("button", name="report").click()
    expect(page.locator(".firings li")).to_contain_text("ok", timeout=40_000)
    expect(page.locator(".firings").get_by_role("link", name="run")).to_be_visible()
    row.get_by_role("button", name="Pause").click()
    expect(row.locator(".tag.warn")).to_contain_text("paused")
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No jobs yet")).to_be_visible()


def test_memory_is_read_and_searched_and_a_citation_leads_there(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    site.fleet.workspace.mkdir(parents=True, exist_ok=True)
    (site.fleet.workspace / "MEMORY.md").write_text(NOTES)
    page.get_by_role("link", name="Memory").click()
    page.get_by_role("link", name="MEMORY.md").click()
    expect(page.locator(".lines li")).to_have_count(3)

    page.get_by_role("searchbox", name="Search memory").fill('"blue-pot"')
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".results li").first).to_contain_text("cabin", timeout=40_000)
    page.locator(".results a").first.click()
    expect(page.locator(".lines li.marked").first).to_be_visible()

    visitor.chat("cited")
    visitor.send(json.dumps(program(say("It is blue-pot.\n\nSource: MEMORY.md#L2"))))
    page.get_by_role("link", name="MEMORY.md#L2").click()
    expect(page.locator(".lines li.marked")).to_have_text("- the wifi of the cabin is blue-pot")
    expect(page).to_have_url(re.compile(r"/memory/main\?path=MEMORY.md&lines=2$"))


def test_a_file_that_is_gone_is_said_to_be(visitor: Visitor) -> None:
    visitor.open("/memory/main?path=memory%2Fgone.md")
    expect(visitor.page.get_by_role("alert")).to_contain_text("is not a memory file")
    assert len(visitor.problems) == 1, "the browser itself notes every answer of 404"
    assert "404" in visitor.problems.pop()


def test_skills_are_listed_with_the_reason_why_one_is_not_offered(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    folder = site.fleet.workspace / "skills" / "far"
    folder.mkdir(parents=True, exist_ok=True)
    needs = json.dumps({"openclaw": {"requires": {"bins": ["no-such-program"]}}})
    (folder / "SKILL.md").write_text(f"---\nname: far\ndescription: Reach it.\nmetadata: {needs}\n---\n")
    page.get_by_role("link", name="Skills").click()
    refused = page.get_by_role("region", name="Not offered")
    expect(refused.get_by_role("row", name="far")).to_contain_text("no-such-program", timeout=40_000)
    expect(page.get_by_role("region", name="Offered", exact=True)).to_contain_text("skill-writer")
