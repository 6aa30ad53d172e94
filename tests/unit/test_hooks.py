"""Hooks are called in the order of their priority, each with a copy of the event and a time limit."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.hooks import HOOKS, Hooks, register
from openclaw_workers.plugins import hook

pytestmark = pytest.mark.usefixtures("no_hooks")


def test_higher_priorities_come_first_and_each_sees_the_changes_before_it() -> None:
    seen: list[tuple[str, Any]] = []

    @hook("message_sending", priority=1)
    def late(event: dict[str, Any]) -> dict[str, str]:
        seen.append(("late", event["text"]))
        return {"text": event["text"] + "!", "unknown": "is not added"}

    @hook("message_sending", priority=10)
    def early(event: dict[str, Any]) -> dict[str, str]:
        seen.append(("early", event["text"]))
        return {"text": event["text"].upper()}

    verdict = Hooks().ask("message_sending", {"text": "hi"})

    assert seen == [("early", "hi"), ("late", "HI")]
    assert (verdict.event, verdict.blocked) == ({"text": "HI!"}, "")


def test_a_block_ends_the_row() -> None:
    called: list[str] = []
    register("before_tool_call", lambda event: {"block": True}, priority=2, plugin="first")
    register("before_tool_call", lambda event: called.append("second"))

    assert Hooks().ask("before_tool_call", {"arguments": {}}).blocked == "a plugin (first) blocked it"
    assert called == []


def test_what_a_hook_does_to_its_event_changes_nothing() -> None:
    register("before_tool_call", lambda event: event["arguments"].clear())

    assert Hooks().ask("before_tool_call", {"arguments": {"a": 1}}).event == {"arguments": {"a": 1}}


def test_an_async_function_is_awaited() -> None:
    @hook("before_compaction")
    async def wait(event: dict[str, Any]) -> dict[str, bool]:
        return {"block": True}

    assert Hooks().ask("before_compaction", {}).blocked


def test_a_failure_after_the_fact_is_only_logged() -> None:
    heard: list[str] = []
    register("agent_end", lambda event: 1 / 0, priority=1)
    register("agent_end", lambda event: heard.append("still"))

    Hooks().fire("agent_end", {})

    assert heard == ["still"]


def test_there_are_eleven_hooks_and_no_others() -> None:
    assert len(HOOKS) == 11
    with pytest.raises(ValueError, match="there is no hook 'before_breakfast'"):
        register("before_breakfast", print)  # type: ignore[arg-type]
