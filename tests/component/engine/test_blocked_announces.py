"""Announces that fail: retries, blocked batches, and what cannot be read."""

from __future__ import annotations

import time
from typing import Any

import pytest

from openclaw_workers.domain.ids import BatchId
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.engine.tree.announce import TRIES_AFTER_MS
from openclaw_workers.errors import StoreUnavailable
from tests.component.engine.announce_steps import due_at
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.tree_builder import (
    CHILD,
    announces,
    ask,
    child,
    children,
    first_turn,
    pending,
    settle,
    shown,
)
from tests.support.programs import program, say, spawn
from tests.support.waiting import eventually


def test_a_delivery_that_fails_is_tried_again_later_and_blocked_in_the_end(engine: EngineHarness) -> None:
    # Given a parent whose inbox cannot be written
    ask(engine)
    engine.work()
    (batch_id,) = pending(engine)
    inbox = engine.stores.keys.inbox(SESSION)
    engine.stores.redis.set(inbox, "broken")
    waits = []

    # When it is tried as often as it may be
    for _ in range(len(TRIES_AFTER_MS) + 1):
        before = due_at(engine, f"batch|{batch_id}")
        assert engine.announcer.announce(batch_id) is None
        waits.append(due_at(engine, f"batch|{batch_id}") - before)

    # Then the waits grew, and at last it is blocked, with the result kept and the reason told
    assert waits[:-1] == list(TRIES_AFTER_MS)
    batch = engine.stores.tree.batch(batch_id)
    assert batch is not None
    assert (batch.state, batch.tries) == (BatchState.BLOCKED, len(TRIES_AFTER_MS) + 1)
    assert "WRONGTYPE" in batch.last_error
    assert pending(engine) == []
    assert child(engine).text == "child's word"
    assert 6 * 86_400 < int(engine.stores.redis.ttl(engine.stores.keys.batch(batch_id))) <= 7 * 86_400

    # And once the reason is gone it can be delivered after all
    engine.stores.redis.delete(inbox)
    assert engine.announcer.announce(batch_id) is BatchState.DELIVERED


def test_a_child_that_waits_for_a_blocked_delivery_is_reported_as_failed(engine: EngineHarness) -> None:
    # Given a parked child whose own child has settled, and whose inbox cannot be written
    ask(engine, task=program(spawn(CHILD), say("waiting"), say("never")), metadata={"k": "v"})
    engine.work()
    (inner,) = pending(engine)
    engine.stores.redis.set(engine.stores.keys.inbox(child(engine).session_key), "broken")

    # When the last try has failed
    for _ in range(len(TRIES_AFTER_MS) + 1):
        assert engine.announcer.announce(inner) is None
    settle(engine)

    # Then its parent hears of it, and what was found is still kept
    (announce,) = announces(engine)
    assert "status: failed" in announce
    assert "could not be delivered" in announce
    (failed,) = shown(engine, "subagent.failed")
    assert (failed["run"], failed["state"], failed["metadata"]) == (child(engine).id, "error", {"k": "v"})
    assert engine.stores.tree.batch(inner).state is BatchState.BLOCKED  # type: ignore[union-attr]
    assert children(engine, child(engine).session_key)[0].text == "child's word"


def blocked(engine: EngineHarness) -> BatchId:
    """The result of a child that could not be delivered, by now for good."""
    ask(engine)
    engine.work()
    (batch_id,) = pending(engine)
    inbox = engine.stores.keys.inbox(SESSION)
    engine.stores.redis.set(inbox, "broken")
    for _ in range(len(TRIES_AFTER_MS) + 1):
        engine.announcer.announce(batch_id)
    engine.stores.redis.delete(inbox)
    return batch_id


def forgets(engine: EngineHarness, batch_id: BatchId) -> str:
    """The item by which a blocked batch is forgotten, made due now."""
    item = f"forget|{batch_id} {SESSION}"
    assert 0 < due_at(engine, item) - time.time() * 1000 - 7 * 86_400_000 < 10_000
    engine.stores.redis.zadd(engine.stores.keys.due, {item: 1})
    return item


def test_a_blocked_batch_is_forgotten_when_it_is_kept_no_longer(engine: EngineHarness) -> None:
    batch_id = blocked(engine)
    item = forgets(engine, batch_id)

    engine.sweeper.sweep()
    assert engine.stores.tree.batches(SESSION) == [batch_id], "its record is still there"
    forgets(engine, batch_id)
    engine.stores.redis.delete(engine.stores.keys.batch(batch_id))
    engine.sweeper.sweep()

    assert engine.stores.tree.batches(SESSION) == []
    assert due_at(engine, item) == 0


def test_a_blocked_batch_that_is_delivered_after_all_is_not_looked_for_again(engine: EngineHarness) -> None:
    batch_id = blocked(engine)
    item = forgets(engine, batch_id)
    assert engine.stores.tree.retry(batch_id)

    engine.sweeper.sweep()
    settle(engine)

    assert due_at(engine, item) == 0
    assert engine.stores.tree.batches(SESSION) == []
    assert len(announces(engine)) == 1


def test_a_batch_that_cannot_be_read_keeps_nobody_else_from_the_sweep(engine: EngineHarness) -> None:
    ask(engine)
    engine.work()
    (batch_id,) = pending(engine)
    key = engine.stores.keys.batch("batch-00")
    engine.stores.redis.hset(key, mapping={"id": "batch-00", "state": "what?", "tries": "0"})
    engine.stores.redis.zadd(engine.stores.keys.due, {"batch|batch-00": 1, "batch|" + batch_id: 2})

    engine.sweeper.sweep()

    assert engine.stores.tree.batch(batch_id).state is BatchState.DELIVERED  # type: ignore[union-attr]
    assert engine.stores.redis.hget(key, "tries") == "1"


def test_a_result_that_cannot_be_read_is_not_left_out_in_silence(engine: EngineHarness) -> None:
    first_turn(engine, spawn(CHILD, CHILD))
    engine.work()
    (batch_id,) = pending(engine)
    engine.stores.redis.hset(engine.stores.keys.run(children(engine)[0].id), "state", "what?")

    assert engine.announcer.announce(batch_id) is None

    batch = engine.stores.tree.batch(batch_id)
    assert batch is not None
    assert "can be read" in batch.last_error
    assert announces(engine) == []


@pytest.mark.parametrize(
    "agents",
    [
        {"defaults": {"subagents": {"announceTimeoutMs": 100}}},
        {"list": [{"id": "main", "subagents": {"announceTimeoutMs": 100}}]},
    ],
    ids=["default", "by agent"],
)
def test_one_try_takes_no_longer_than_announce_timeout(make_engine: MakeEngine, agents: dict[str, Any]) -> None:
    engine = make_engine({"agents": agents})
    ask(engine)
    engine.work()
    (batch_id,) = pending(engine)
    engine.stores.redis.client_pause(600, all=False)

    with pytest.raises(StoreUnavailable, match=r"0\.1 s"):
        engine.announcer.announce(batch_id)
    assert pending(engine) == [batch_id]

    # What was cut off may still happen, and then once
    eventually(lambda: pending(engine) == [], within=5)
    eventually(lambda: engine.work() == 0 and len(announces(engine)) == 1, within=5)
