"""Servers that number the calls of each message from the beginning: an id names one call here, and what it did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry
from tests.component.engine.conftest import SESSION, MakeEngine
from tests.component.engine.tree_builder import children
from tests.component.engine.wire_harness import wire_engine
from tests.support.wire import Called, Reply, WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def spawning(task: str) -> Called:
    return Called("sessions_spawn", {"task": task}, id="call_0")


def test_a_call_id_that_comes_again_in_a_run_spawns_another_child(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, model="a/m")
    wired.plan("a1:m", Reply(calls=[spawning("one")]), Reply(calls=[spawning("two")]), Reply("spawned"))

    wired.engine.say("go")
    wired.engine.runner.run(*wired.engine.waker.turns.pop(0))

    assert [run.task for run in children(wired.engine)] == ["one", "two"]
    assert len(set(calls(wired.engine.log()))) == 2


def test_calls_of_one_message_with_one_id_are_carried_out_each(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, model="a/m")
    wired.plan("a1:m", Reply(calls=[spawning("one"), spawning("two")]), Reply("spawned"))

    wired.engine.say("go")
    wired.engine.runner.run(*wired.engine.waker.turns.pop(0))

    assert [run.task for run in children(wired.engine)] == ["one", "two"]
    results = [entry.tool_call_id for entry in wired.engine.log(SESSION) if isinstance(entry, ToolResultEntry)]
    assert results == calls(wired.engine.log())


def calls(log: list[Any]) -> list[str]:
    return [call.id for entry in log if isinstance(entry, AssistantEntry) for call in entry.tool_calls]
