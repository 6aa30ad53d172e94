"""What plugins hear of sub-agents: each run of one begins and ends, once."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.engine import hooks as plugins
from openclaw_workers.engine.tree.announce import TRIES_AFTER_MS
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.tree_builder import ask, child, children, pending, settle, shown

Heard = list[tuple[str, str]]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """A plugin is installed; gives what it was told."""
    told: Heard = []

    class Plugin:
        def subagent_spawned(self, record: dict[str, Any]) -> None:
            told.append(("spawned", record["id"]))

        def subagent_ended(self, record: dict[str, Any]) -> None:
            told.append(("ended", record["id"]))

    monkeypatch.setattr(plugins, "_plugins", lambda: (("noting", Plugin()),))
    return told


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
