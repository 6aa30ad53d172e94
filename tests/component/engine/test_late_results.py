"""Results for sessions that were reset or deleted meanwhile."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.domain.ids import BatchId
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import BatchState
from tests.component.engine.announce_steps import MIDDLE
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.tree_builder import (
    CHILD,
    announces,
    child,
    children,
    first_turn,
    reread,
    row,
    settle,
    shown,
    text,
)
from tests.support.programs import say, spawn


def late_texts(engine: EngineHarness, session_id: str) -> list[str]:
    """Write every archive out, and read what people said or were told in the transcript of that generation."""
    engine.archive_all()
    path = engine.loaded.state_dir / "agents" / "main" / "sessions" / f"{session_id}.jsonl"
    entries = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [entry["content"][0]["text"] for entry in entries if entry.get("provenance") == "subagent"]


def start_over(engine: EngineHarness, how: str) -> None:
    match how:
        case "reset":
            engine.control.reset(SESSION)
        case "/new":
            engine.say("/new")
            wake = next(each for each in engine.waker.turns if each[0] == SESSION)
            engine.runner.run(*wake)
        case "stale":
            engine.stores.sessions.patch(SESSION, {"lastInteractionAt": "1"})
            engine.say("good morning")
            wake = next(each for each in engine.waker.turns if each[0] == SESSION)
            engine.runner.run(*wake)
        case "delete":
            engine.control.delete(SESSION)
            engine.say("hello again")
            engine.runner.run(*engine.waker.turns[-1])
    engine.control.stop_children(SESSION)  # as the sweep does, where nobody did yet


@pytest.mark.parametrize("how", ["reset", "/new", "stale", "delete"])
def test_results_for_a_session_that_was_reset_go_to_its_transcript_on_disk(engine: EngineHarness, how: str) -> None:
    # Given a root that is reset while its children work
    first_turn(engine, spawn(CHILD, MIDDLE))
    old = row(engine, SESSION)["sessionId"]
    engine.runner.run(*engine.waker.turns.pop())  # the second one is parked, the first one waits
    runs = children(engine)
    start_over(engine, how)

    reported = settle(engine)

    # Then they are stopped, and reported to the old generation on disk and to viewers, but not to the new one
    assert BatchState.ARCHIVED in reported
    reason = "session-delete" if how == "delete" else "session-reset"
    assert [reread(engine, run).ended_reason for run in runs] == [reason] * 2
    assert announces(engine) == []
    assert row(engine, SESSION)["sessionId"] != old
    (late,) = late_texts(engine, old)
    assert late.count(f"status: failed ({reason})") >= 2
    assert [each["how"] for each in shown(engine, "subagent.announced")] == ["archived"]
    assert engine.stores.tree.counts(SESSION, SESSION) == (0, 0)


def test_a_deleted_root_has_nobody_left_to_hear(engine: EngineHarness) -> None:
    first_turn(engine, spawn(CHILD))
    run = child(engine)
    engine.control.delete(SESSION)

    assert settle(engine) == [BatchState.NOBODY]
    assert reread(engine, run).ended_reason == "session-delete"
    assert engine.stores.redis.exists(engine.stores.keys.ctl(SESSION), engine.stores.keys.row(SESSION)) == 0


def test_a_vanished_child_leaves_its_childrens_results_to_its_own_parent(engine: EngineHarness) -> None:
    first_turn(engine, spawn(MIDDLE))
    engine.runner.run(*engine.waker.turns.pop(0))
    middle = child(engine)
    (leaf,) = children(engine, middle.session_key)

    engine.control.delete(middle.session_key)

    assert settle(engine) == [BatchState.FOLDED, BatchState.DELIVERED]
    (reported,) = announces(engine)
    assert middle.id in reported
    assert leaf.id in reported
    assert reported.count("status: failed (session-delete)") == 2


def spoken_to_again(engine: EngineHarness) -> tuple[Run, Run]:
    """A child that has reported, and its own child at work once more."""
    first_turn(engine, spawn(MIDDLE))
    settle(engine)
    middle = child(engine)
    (leaf,) = children(engine, middle.session_key)
    engine.say(text(say("more")), leaf.session_key)
    return middle, children(engine, middle.session_key)[-1]


def test_results_for_a_settled_child_that_was_deleted_go_to_its_own_parent(engine: EngineHarness) -> None:
    middle, again = spoken_to_again(engine)

    engine.control.delete(middle.session_key)

    assert settle(engine) == [BatchState.DELIVERED]
    _, reported = announces(engine)
    assert again.id in reported
    assert "status: failed (session-delete)" in reported
    batch = engine.stores.tree.batch(again.batch or BatchId(""))
    assert batch is not None
    assert batch.parent_session == SESSION, "the record says who has heard it"
    keys = engine.stores.keys
    left = (keys.ctl(middle.session_key), keys.batches(middle.session_key), keys.live(middle.session_key))
    assert engine.stores.redis.exists(*left) == 0


def test_results_for_a_deleted_child_of_a_session_that_was_reset_go_to_its_archive(engine: EngineHarness) -> None:
    middle, again = spoken_to_again(engine)
    old = row(engine, SESSION)["sessionId"]
    engine.control.reset(SESSION)
    engine.control.delete(middle.session_key)

    assert settle(engine) == [BatchState.ARCHIVED]
    assert announces(engine) == []
    assert again.id in late_texts(engine, old)[-1]
