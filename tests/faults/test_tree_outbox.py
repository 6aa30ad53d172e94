"""Results that cannot be delivered are retried and kept; children are removed after their results are delivered."""

from __future__ import annotations

import time

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import Batch, BatchState
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.client_graph import chats_of
from openclaw_workers.engine.tree.announce import TRIES_AFTER_MS
from openclaw_workers.engine.worker_graph import announcer_of
from openclaw_workers.store.keys import BATCH, CLEANUP
from tests.faults.conftest import MakeFleet
from tests.faults.test_tree_endings import announce_to, begin, offspring, with_workers
from tests.support.fleet import Fleet
from tests.support.ocw import Gate
from tests.support.programs import program, say
from tests.support.tree import announces, batch_of, check_tree
from tests.support.waiting import eventually

WEEK_SECONDS = 7 * 86_400
HOUR_MS = 3_600_000


def due_in_ms(fleet: Fleet, item: str) -> float | None:
    """Milliseconds until the sweep handles the item; None if it is not due at all."""
    score = fleet.stores.redis.zscore(fleet.stores.keys.due, item)
    return None if score is None else float(score) - time.time() * 1000


def make_due(fleet: Fleet, item: str) -> None:
    """Make the item due now."""
    fleet.stores.redis.zadd(fleet.stores.keys.due, {item: 0}, xx=True)


def undeliverable(fleet: Fleet) -> tuple[Queued, Batch]:
    """A child whose parent's inbox key has the wrong type by the time it ends."""
    gate = Gate(fleet, "child")
    root = begin(fleet, program(gate.step, say("worth keeping")))
    (child,) = offspring(fleet, root.session_key, 1, RunState.RUNNING)
    eventually(lambda: fleet.stores.reader.control(root.session_key).state == "idle", within=10)
    fleet.stores.redis.set(fleet.stores.keys.inbox(root.session_key), "no inbox")
    gate.open()
    return root, batch_of(fleet.stores, child)


def tried(fleet: Fleet, batch: Batch, times: int) -> Batch:
    def seen() -> Batch | None:
        record = fleet.stores.tree.batch(batch.id)
        return record if record and record.tries >= times else None

    return eventually(seen, within=15)


def test_a_failing_announce_is_retried_with_growing_delays_and_then_kept(make_fleet: MakeFleet) -> None:
    fleet = with_workers(make_fleet())
    root, batch = undeliverable(fleet)
    item = BATCH + batch.id

    delays = []
    for number in range(1, len(TRIES_AFTER_MS) + 1):
        pending = tried(fleet, batch, number)
        assert (pending.state, pending.tries) == (BatchState.SETTLED, number)
        assert "WRONGTYPE" in pending.last_error
        delays.append(eventually(lambda: _ahead(fleet, item), within=5))
        make_due(fleet, item)
    blocked = tried(fleet, batch, len(TRIES_AFTER_MS) + 1)

    assert all(planned - 2000 < delay < planned + 8000 for planned, delay in zip(TRIES_AFTER_MS, delays, strict=True))
    assert blocked.state is BatchState.BLOCKED
    assert "WRONGTYPE" in blocked.last_error
    assert due_in_ms(fleet, item) is None, "it is still retried"
    redis, keys = fleet.stores.redis, fleet.stores.keys
    (child,) = fleet.stores.tree.children(root.session_key)
    assert (child.state, child.text) == (RunState.OK, "worth keeping")
    for kept in (keys.batch(batch.id), keys.run(child.id)):
        assert 0.9 * WEEK_SECONDS < redis.ttl(kept) <= WEEK_SECONDS

    redis.delete(keys.inbox(root.session_key))
    agents = AgentConfigs(fleet.settings, fleet.state_dir, default_model="")
    announcer = announcer_of(fleet.stores, fleet.waker, agents, chats_of(fleet.settings))
    assert announcer.announce(batch.id) is BatchState.DELIVERED
    assert "worth keeping" in announce_to(fleet, root)


def _ahead(fleet: Fleet, item: str) -> float | None:
    """The delay after a failed try; a running sweep's claim lasts a few seconds at most."""
    ahead = due_in_ms(fleet, item)
    return ahead if ahead is not None and ahead > 10_000 else None


def test_a_repaired_parent_gets_its_results_once_with_the_next_try(make_fleet: MakeFleet) -> None:
    fleet = with_workers(make_fleet())
    root, batch = undeliverable(fleet)
    tried(fleet, batch, 1)
    assert announces(fleet.transcript(root.session_key)) == []

    fleet.stores.redis.delete(fleet.stores.keys.inbox(root.session_key))
    eventually(lambda: _ahead(fleet, BATCH + batch.id), within=5)
    make_due(fleet, BATCH + batch.id)

    assert "worth keeping" in announce_to(fleet, root)


def archived(fleet: Fleet, child: Run) -> str:
    """The archived transcript of a session that is gone from Redis."""
    assert fleet.stores.reader.session(child.session_key) is None
    file = fleet.state_dir / "agents" / "main" / "sessions" / f"{child.session_id}.jsonl"
    eventually(file.exists, within=10)
    return file.read_text()


def left_of(fleet: Fleet, session: SessionKey) -> list[str]:
    """Keys of a session that have no expiry."""
    redis = fleet.stores.redis
    return [str(key) for key in redis.scan_iter(f"*:s:{session}:*") if redis.ttl(str(key)) < 0]


def test_cleanup_delete_removes_a_child_after_its_announce_and_not_before(make_fleet: MakeFleet) -> None:
    fleet = with_workers(make_fleet())
    gate = Gate(fleet, "sibling")
    root = begin(fleet, program(say("quick")), program(gate.step, say("slow")), cleanup="delete")
    quick, slow = offspring(fleet, root.session_key, 2)
    eventually(lambda: fleet.run(quick.id).settled_at, within=10)
    assert fleet.stores.reader.session(quick.session_key) is not None, "it was removed before its result was delivered"
    assert due_in_ms(fleet, CLEANUP + quick.session_key) is None
    gate.open()

    announce = announce_to(fleet, root)
    eventually(lambda: fleet.stores.reader.session(slow.session_key) is None, within=20)
    eventually(lambda: fleet.stores.reader.session(quick.session_key) is None, within=20)

    assert announce.count("status: completed") == 2
    for child, said in ((quick, "quick"), (slow, "slow")):
        assert said in archived(fleet, fleet.run(child.id))
        assert left_of(fleet, child.session_key) == []
        assert fleet.run(child.id).text == said, "the record stays"
    check_tree(fleet.stores, root.session_key)


def test_a_kept_child_is_archived_an_hour_after_its_last_message(make_fleet: MakeFleet) -> None:
    fleet = with_workers(make_fleet())
    root = begin(fleet, program(say("kept")))
    announce_to(fleet, root)
    (child,) = fleet.stores.tree.children(root.session_key)
    item = CLEANUP + child.session_key
    ahead = due_in_ms(fleet, item)
    assert ahead is not None
    assert HOUR_MS - 10_000 < ahead <= HOUR_MS + 1000

    make_due(fleet, item)  # too early: the last message is not an hour old
    put_off = eventually(lambda: _ahead(fleet, item), within=10)
    assert HOUR_MS - 30_000 < put_off <= HOUR_MS + 10_000
    assert fleet.stores.reader.session(child.session_key) is not None

    long_ago = int(time.time() * 1000) - HOUR_MS - 1000
    fleet.stores.redis.hset(fleet.stores.keys.row(child.session_key), "updatedAt", long_ago)
    make_due(fleet, item)
    eventually(lambda: fleet.stores.reader.session(child.session_key) is None, within=10)
    assert "kept" in archived(fleet, child)
    assert left_of(fleet, child.session_key) == []
    check_tree(fleet.stores, root.session_key)
