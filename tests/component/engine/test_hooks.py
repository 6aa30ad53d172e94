"""What plugins hear of turns and sub-agents, and how they change or block what comes next."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.engine.tree.announce import TRIES_AFTER_MS
from openclaw_workers.hooks import HookName, register
from openclaw_workers.plugins import hook
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import text
from tests.component.engine.tree_builder import ask, child, children, pending, settle, shown
from tests.support.programs import call, execute, say, spawn

Heard = list[tuple[str, str]]


@pytest.fixture
def heard(no_hooks: None) -> Heard:
    """A plugin is installed; gives what it was told."""
    reported: Heard = []

    @hook("subagent_spawned")
    def spawned(record: dict[str, Any]) -> None:
        reported.append(("spawned", record["id"]))

    @hook("subagent_ended")
    def ended(record: dict[str, Any]) -> None:
        reported.append(("ended", record["id"]))

    return reported


def spoken_to_again(engine: EngineHarness) -> RunId:
    ask(engine, label="one", metadata={"k": "v"})
    settle(engine)
    engine.say("again", child(engine).session_key)
    return children(engine)[-1].id


def test_a_follow_up_of_a_kept_child_is_heard_of_as_spawned_and_ended(engine: EngineHarness, heard: Heard) -> None:
    again = spoken_to_again(engine)
    first = children(engine)[0].id

    settle(engine)

    assert heard == [("spawned", first), ("ended", first), ("spawned", again), ("ended", again)]


def test_a_follow_up_that_nobody_takes_is_heard_of_all_the_same(engine: EngineHarness, heard: Heard) -> None:
    again = spoken_to_again(engine)
    heard.clear()

    engine.control.stop_run(again)
    settle(engine)

    assert heard == [("spawned", again), ("ended", again)]


def test_those_who_watch_the_parent_see_a_follow_up_begin(engine: EngineHarness) -> None:
    again = spoken_to_again(engine)

    first, second = shown(engine, "subagent.spawned")

    assert "followUp" not in first
    assert (second["run"], second["session"], second["followUp"]) == (again, first["session"], True)
    assert {name: second[name] for name in ("label", "depth", "parentRun", "metadata")} == {
        name: first[name] for name in ("label", "depth", "parentRun", "metadata")
    }


def test_the_runs_of_a_batch_that_is_given_up_are_heard_of_as_ended_once(engine: EngineHarness, heard: Heard) -> None:
    # Given a result that cannot be delivered
    ask(engine)
    engine.work()
    (batch_id,) = pending(engine)
    inbox, run = engine.stores.keys.inbox(SESSION), child(engine).id
    engine.stores.redis.set(inbox, "broken")
    for _ in range(len(TRIES_AFTER_MS)):
        engine.announcer.announce(batch_id)
    assert heard == [("spawned", run)]

    # When it is given up, and given up again
    engine.announcer.announce(batch_id)
    assert heard == [("spawned", run), ("ended", run)]
    assert engine.stores.tree.retry(batch_id)
    for _ in range(len(TRIES_AFTER_MS) + 1):
        engine.announcer.announce(batch_id)

    # Then that is said once, also if it is delivered after all
    engine.stores.redis.delete(inbox)
    assert engine.stores.tree.retry(batch_id)
    assert engine.announcer.announce(batch_id) is BatchState.DELIVERED
    assert heard == [("spawned", run), ("ended", run)]


def test_a_childs_turn_asks_nothing_for_plugins_that_are_not_there(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(engine)
    read: list[RunId] = []
    monkeypatch.setattr(type(engine.stores.reader), "run", lambda _, run: read.append(run))

    engine.runner.run(*engine.waker.turns.pop(0), is_header=True)

    assert (child(engine).text, read) == ("child's word", [])


def noted(*names: HookName) -> list[tuple[str, dict[str, Any]]]:
    """Listen to hooks; gives what was heard."""
    events: list[tuple[str, dict[str, Any]]] = []
    for name in names:
        register(name, lambda event, name=name: events.append((name, event)))  # type: ignore[misc]
    return events


def results(engine: EngineHarness) -> list[str]:
    return [entry.content[0].text for entry in engine.log() if isinstance(entry, ToolResultEntry)]


def test_a_turn_is_heard_of_from_its_message_to_its_end(engine: EngineHarness, no_hooks: None) -> None:
    events = noted("session_start", "message_received", "after_tool_call", "agent_end", "session_end")
    engine.say(text(call(execute("echo hi")), say("done")), sender="Ann")
    engine.work()
    engine.say(text(say("again")))
    engine.work()
    engine.control.reset(SESSION)
    engine.archive_all()

    assert [name for name, _ in events] == [
        *("session_start", "message_received", "after_tool_call", "agent_end"),
        *("message_received", "agent_end", "session_end"),
    ]
    heard = dict(events[:4])
    assert heard["message_received"]["messages"][0]["sender"] == "Ann"
    assert (heard["after_tool_call"]["tool"], heard["after_tool_call"]["error"]) == ("exec", False)
    assert "hi" in heard["after_tool_call"]["result"]
    assert (heard["agent_end"]["state"], heard["agent_end"]["text"]) == ("ok", "done")


def test_a_hook_changes_or_blocks_a_call_by_any_name_of_its_tool(engine: EngineHarness, no_hooks: None) -> None:
    @hook("before_tool_call")
    def careful(event: dict[str, Any]) -> dict[str, Any] | None:
        if "rm" in event["arguments"].get("command", ""):
            return {"block": True, "reason": "nothing is removed here"}
        return {"arguments": {"command": "echo changed"}} if event["tool"] == "exec" else None

    remove = {"tool": "shell", "input": {"cmd": "rm x"}}
    engine.say(text(call(execute("echo original"), remove), say("done")))
    engine.work()

    first, second = results(engine)
    assert "changed" in first
    assert "original" not in first
    assert second == "this call is not allowed: nothing is removed here"
    (asked,) = [entry for entry in engine.log() if isinstance(entry, AssistantEntry) and entry.tool_calls]
    assert asked.tool_calls[0].arguments == {"command": "echo original"}, (
        "the transcript keeps what the model asked for"
    )


def test_spawns_pass_the_hook_too(engine: EngineHarness, no_hooks: None) -> None:
    register("before_tool_call", lambda event: {"block": True, "reason": "alone"})
    engine.say(text(spawn("one", "two"), say("done")))
    engine.work()

    assert results(engine) == ["this call is not allowed: alone"] * 2
    assert engine.stores.tree.children(SESSION) == []


@pytest.mark.parametrize(("failure", "runs"), [("block", False), ("pass", True)])
def test_a_hook_that_fails_blocks_unless_the_setting_lets_it_pass(
    make_engine: MakeEngine, no_hooks: None, failure: str, runs: bool
) -> None:
    engine = make_engine({"engine": {"hookFailure": failure}})
    register("before_tool_call", lambda event: 1 / 0, plugin="broken")
    engine.say(text(call(execute("echo ran")), say("done")))
    engine.work()

    assert ("ran" in results(engine)[0]) is runs
    assert ("the hook before_tool_call of broken failed" in results(engine)[0]) is not runs


def test_a_hook_has_so_much_time_as_is_set(make_engine: MakeEngine, no_hooks: None) -> None:
    engine = make_engine({"engine": {"hookTimeoutSeconds": 0.1}})
    never = threading.Event()
    register("before_tool_call", lambda event: never.wait(60), plugin="slow")
    engine.say(text(call(execute("echo hi")), say("done")))
    engine.work()
    never.set()

    assert "of slow did not end within 0.1 s" in results(engine)[0]
