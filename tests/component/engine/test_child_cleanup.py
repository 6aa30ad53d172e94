"""When children are deleted or archived after their announce."""

from __future__ import annotations

import time

import pytest

from tests.component.engine.announce_steps import MIDDLE, due_at
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.component.engine.tree_builder import (
    ask,
    child,
    children,
    reread,
    settle,
)


def test_a_child_to_be_deleted_goes_once_it_is_announced(engine: EngineHarness) -> None:
    ask(engine, cleanup="delete")
    run = child(engine)
    engine.work()
    assert due_at(engine, f"cleanup|{run.session_key}") == 0

    settle(engine)
    engine.sweeper.sweep()

    assert engine.stores.reader.session(run.session_key) is None
    assert reread(engine, run).text == "child's word"


@pytest.mark.parametrize(("minutes", "expected"), [(None, 60), (5, 5)])
def test_a_kept_child_is_archived_later(make_engine: MakeEngine, minutes: int | None, expected: int) -> None:
    keys = {} if minutes is None else {"archiveAfterMinutes": minutes}
    engine = make_engine({"agents": {"defaults": {"subagents": keys}}})
    ask(engine)
    run = child(engine)
    settle(engine)
    item = f"cleanup|{run.session_key}"
    ended = reread(engine, run).ended_at or 0
    assert expected * 60_000 <= due_at(engine, item) - ended < expected * 60_000 + 30_000

    engine.stores.redis.zadd(engine.stores.keys.due, {item: 1})
    engine.sweeper.sweep()
    assert engine.stores.reader.session(run.session_key) is not None, "it was spoken to just now"

    engine.stores.sessions.patch(run.session_key, {"updatedAt": "1"})
    engine.stores.redis.zadd(engine.stores.keys.due, {item: 1})
    engine.sweeper.sweep()
    assert engine.stores.reader.session(run.session_key) is None


def test_a_worker_whose_clock_is_ahead_archives_no_child_before_its_time(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(engine)
    run = child(engine)
    settle(engine)
    engine.stores.redis.zadd(engine.stores.keys.due, {f"cleanup|{run.session_key}": 1})
    ahead = time.time() + 86_400
    monkeypatch.setattr(time, "time", lambda: ahead)

    engine.sweeper.sweep()

    assert engine.stores.reader.session(run.session_key) is not None


def test_archive_after_0_minutes_means_never(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": {"defaults": {"subagents": {"archiveAfterMinutes": 0}}}})
    ask(engine)
    settle(engine)
    assert due_at(engine, f"cleanup|{child(engine).session_key}") == 0


def test_a_child_whose_own_child_is_at_work_again_is_not_archived(engine: EngineHarness) -> None:
    ask(engine, task=MIDDLE)
    settle(engine)
    middle = child(engine)
    (leaf,) = children(engine, middle.session_key)
    engine.say("again", leaf.session_key)
    engine.stores.sessions.patch(middle.session_key, {"updatedAt": "1"})
    engine.stores.redis.zadd(engine.stores.keys.due, {f"cleanup|{middle.session_key}": 1})

    engine.sweeper.sweep()

    assert engine.stores.reader.session(middle.session_key) is not None
