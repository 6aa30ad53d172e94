"""What plugins hear of sub-agents: each run of one begins and ends, once."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.engine import plugins
from openclaw_workers.engine.announcing import TRIES_AFTER_MS
from openclaw_workers.models.ids import RunId
from openclaw_workers.models.tree import BatchState
from tests.unit.engine.conftest import SESSION, House
from tests.unit.engine.tree_talk import ask, child, children, pending, settle, shown

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


def spoken_to_again(house: House) -> RunId:
    ask(house, label="one", metadata={"k": "v"})
    settle(house)
    house.say("again", child(house).session_key)
    return children(house)[-1].id


def test_a_follow_up_of_a_kept_child_is_heard_of_as_spawned_and_ended(house: House, heard: Heard) -> None:
    again = spoken_to_again(house)
    first = children(house)[0].id

    settle(house)

    assert heard == [("spawned", first), ("ended", first), ("spawned", again), ("ended", again)]


def test_a_follow_up_that_nobody_takes_is_heard_of_all_the_same(house: House, heard: Heard) -> None:
    again = spoken_to_again(house)
    heard.clear()

    house.control.stop_run(again)
    settle(house)

    assert heard == [("spawned", again), ("ended", again)]


def test_those_who_watch_the_parent_see_a_follow_up_begin(house: House) -> None:
    again = spoken_to_again(house)

    first, second = shown(house, "subagent.spawned")

    assert "followUp" not in first
    assert (second["run"], second["session"], second["followUp"]) == (again, first["session"], True)
    assert {name: second[name] for name in ("label", "depth", "parentRun", "metadata")} == {
        name: first[name] for name in ("label", "depth", "parentRun", "metadata")
    }


def test_the_runs_of_a_batch_that_is_given_up_are_heard_of_as_ended_once(house: House, heard: Heard) -> None:
    # Given a result that cannot be delivered
    ask(house)
    house.work()
    (batch_id,) = pending(house)
    inbox, run = house.stores.keys.inbox(SESSION), child(house).id
    house.stores.redis.set(inbox, "broken")
    for _ in range(len(TRIES_AFTER_MS)):
        house.announcer.announce(batch_id)
    assert heard == [("spawned", run)]

    # When it is given up, and given up again
    house.announcer.announce(batch_id)
    assert heard == [("spawned", run), ("ended", run)]
    assert house.stores.tree.retry(batch_id)
    for _ in range(len(TRIES_AFTER_MS) + 1):
        house.announcer.announce(batch_id)

    # Then that is said once, also if it is delivered after all
    house.stores.redis.delete(inbox)
    assert house.stores.tree.retry(batch_id)
    assert house.announcer.announce(batch_id) is BatchState.DELIVERED
    assert heard == [("spawned", run), ("ended", run)]


def test_a_childs_turn_asks_nothing_for_plugins_that_are_not_there(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(house)
    read: list[RunId] = []
    monkeypatch.setattr(type(house.stores.reader), "run", lambda _, run: read.append(run))

    house.runner.run(*house.waker.turns.pop(0), is_header=True)

    assert (child(house).text, read) == ("child's word", [])
