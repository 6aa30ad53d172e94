"""Talking to an agent on the page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.ocw import Gate
from tests.support.programs import call, execute, program, say
from tests.support.site import Site, Visitor

pytestmark = pytest.mark.needs("chromium")

HOSTILE = (
    "Look: <script>window.hacked = 1</script> <img src=x onerror='window.hacked = 2'>\n\n"
    "![pixel](https://evil.example/pixel.png) [x](javascript:window.hacked=3) **bold**"
)


def as_message(steps: dict[str, Any]) -> str:
    return json.dumps(steps)


def test_an_answer_appears_while_it_is_written(visitor: Visitor) -> None:
    page = visitor.page
    visitor.chat("streamed")
    words = " ".join(f"word{number}" for number in range(12))
    visitor.send(as_message(program({"text": f"{words} **end**", "chunks": 12, "chunkDelayMs": 250})))

    streaming = page.locator(".streaming")
    expect(streaming).to_contain_text("word1")
    assert "end" not in (streaming.text_content() or ""), "it was shown before it was complete"
    expect(page.locator(".prose strong", has_text="end")).to_be_visible()
    expect(streaming).to_have_count(0)
    expect(page.locator(".msg.assistant")).to_have_count(1)


def test_what_a_model_wrote_stays_text(visitor: Visitor) -> None:
    page = visitor.page
    visitor.chat("hostile")
    visitor.send(as_message(program(say(HOSTILE))))

    answer = page.locator(".msg.assistant .prose:not(.plain)")
    expect(answer.locator("strong")).to_have_text("bold")
    expect(answer).to_contain_text("<script>window.hacked = 1</script>")
    assert answer.locator("script, img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_a_tool_call_is_folded_with_its_input_and_output(visitor: Visitor) -> None:
    page = visitor.page
    visitor.chat("tools")
    visitor.send(as_message(program(call(execute("echo from-the-tool"), text="First."), say("Done."))))

    expect(page.locator(".msg.assistant").last).to_contain_text("Done.")
    tools = page.locator("details.tools")
    expect(tools).to_have_count(1)
    assert tools.get_attribute("open") is None
    tools.locator("summary").click()
    expect(tools).to_contain_text("echo from-the-tool")
    expect(tools.locator("pre", has_text="from-the-tool").last).to_be_visible()


def test_messages_wait_behind_a_running_turn_which_can_be_stopped(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    gate = Gate(site.fleet, "queued")
    visitor.chat("queued")
    visitor.send(as_message(program(gate.step)))
    page.get_by_role("button", name="Stop").wait_for()
    visitor.send("one more")
    visitor.send("and another")

    expect(page.get_by_text("2 messages wait")).to_be_visible()
    page.get_by_role("button", name="Stop").click()

    expect(page.get_by_text("2 messages wait")).to_have_count(0)
    expect(page.get_by_role("log")).to_contain_text("the turn was stopped")
    gate.open()


def test_a_message_can_be_steered_into_the_running_turn(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    gate = Gate(site.fleet, "steered")
    visitor.chat("steered")
    visitor.send(as_message(program(gate.step, say("I have read it."))))
    page.get_by_role("button", name="Stop").wait_for()
    visitor.message.fill("look to the left")
    page.get_by_role("button", name="Steer").click()
    expect(visitor.message).to_have_value("")
    gate.open()

    expect(page.locator(".msg.assistant")).to_contain_text("I have read it.")
    steered = page.locator(".msg.user", has_text="look to the left")
    expect(steered).to_contain_text("steered")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def test_a_turn_that_is_joined_late_is_shown_from_its_first_word(site: Site, visitor: Visitor) -> None:
    gate = Gate(site.fleet, "joined")
    site.fleet.send(program(call(gate.step["calls"][0], text="The first words."), say("The last words.")), "joined")
    site.fleet.carrier("joined")
    visitor.chat("joined")

    log = visitor.page.get_by_role("log")
    expect(log).to_contain_text("The first words.")
    gate.open()
    expect(log).to_contain_text("The last words.")


def test_commands_are_completed_and_carried_out(visitor: Visitor) -> None:
    page = visitor.page
    visitor.chat("commands")
    visitor.message.fill("/sta")
    expect(page.get_by_role("option")).to_have_count(1)
    visitor.message.press("Tab")
    expect(visitor.message).to_have_value("/status")
    visitor.message.press("Enter")

    expect(page.locator(".command-output")).to_contain_text("agent:main:commands")


def test_files_are_dropped_and_pasted(site: Site, visitor: Visitor) -> None:
    page = visitor.page
    visitor.chat("files")
    for kind, target in (("drop", ".chat"), ("paste", "textarea")):
        page.evaluate(
            """([kind, target]) => {
              const data = new DataTransfer();
              data.items.add(new File(["hello from " + kind], kind + ".txt", { type: "text/plain" }));
              const named = kind === "paste" ? { clipboardData: data } : { dataTransfer: data };
              const make = kind === "paste" ? ClipboardEvent : DragEvent;
              const event = new make(kind, { ...named, bubbles: true, cancelable: true });
              document.querySelector(target).dispatchEvent(event);
            }""",
            [kind, target],
        )
        expect(page.locator(".composer .files li", has_text=f"{kind}.txt")).to_be_visible()
    visitor.send(as_message(program(say("Got them."))))

    expect(page.locator(".msg.assistant")).to_contain_text("Got them.")
    expect(page.locator(".msg.user .files li")).to_have_count(2)
    assert len(list(site.fleet.workspace.rglob("*drop*.txt"))) == 1


def test_a_session_is_named_reset_and_deleted(visitor: Visitor) -> None:
    page = visitor.page
    visitor.chat("renamed")
    visitor.send(as_message(program(say("hello"))))
    expect(page.locator(".msg.assistant")).to_contain_text("hello")

    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Name", exact=True).fill("Fresh name")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fresh name")
    expect(page.get_by_role("link", name="Fresh name")).to_be_visible()

    page.get_by_role("button", name="Reset").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(page.locator(".msg.assistant")).to_have_count(0)

    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="Fresh name")).to_have_count(0)


def test_what_waits_for_a_person_is_decided_above_the_input(visitor: Visitor, site: Site) -> None:
    page = visitor.page
    ask = {"tool": "ask_user", "input": {"question": "Which colour?", "choices": ["red", "blue"]}}
    site.fleet.send(program(call(execute("echo asked")), call(ask), say("all decided")), "telegram:group:-9")
    visitor.chat("other")

    command = page.get_by_role("group", name="Command to allow")
    expect(command.locator("pre")).to_have_text("echo asked")
    command.get_by_role("button", name="Allow once").click()
    question = page.get_by_role("group", name="Question")
    expect(question).to_contain_text("Which colour?")
    question.get_by_role("button", name="blue").click()
    expect(page.locator(".questions")).to_have_count(0)

    visitor.chat("telegram:group:-9")
    expect(page.locator(".msg.assistant", has_text="all decided")).to_be_visible()
