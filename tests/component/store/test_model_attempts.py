"""Models that did not answer: every script that records calls adds them to the run record, each once."""

from __future__ import annotations

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import Lane, ModelAttempt, RunState
from openclaw_workers.errors import FailureReason
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.turn_records import Lease
from tests.component.store.harness import SESSION, StoreHarness, child_key


def vain(*calls: str) -> LedgerEntries:
    reported = 'it said "call-1" and\n[more]'
    return LedgerEntries(
        attempts=[ModelAttempt(id=call, model="p/m", reason=FailureReason.TIMEOUT, error=reported) for call in calls]
    )


def attempts(store: StoreHarness, run: RunId) -> list[str]:
    return [each.id for each in store.run(run).model_attempts]


def test_attempts_are_appended_by_whatever_records_them(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    store.turns().record_calls(lease, vain("call-12"))
    store.turns().step(lease, 1, [], calls=vain("call-1", "call-2"))
    store.turns().step(lease, 2, [], calls=vain("call-2"))
    store.turns().release(lease, calls=vain("call-3"))
    store.commit(store.take(), calls=vain("call-4"))
    assert attempts(store, lease.run) == ["call-12", "call-1", "call-2", "call-3", "call-4"]


def test_a_child_keeps_those_of_its_earlier_rounds(store: StoreHarness) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    child = store.take(session=child_key("a"), run="run-a")
    store.spawn(child, "b", batch="batch-2")
    store.commit(child, calls=vain("call-1"))
    assert store.run(RunId("run-a")).state is RunState.PARKED
    store.commit(store.take(session=child_key("b"), run="run-b"))
    store.announce("batch-2")
    store.commit(store.take(session=child_key("a"), run="run-a"), calls=vain("call-2"))
    assert attempts(store, RunId("run-a")) == ["call-1", "call-2"]


def test_a_run_that_is_forgotten_does_not_come_back_by_it(store: StoreHarness) -> None:
    store.turns().record_calls(Lease(SESSION, RunId("run-gone"), Lane.MAIN, "1:n"), vain("call-1"))
    assert store.redis.exists(store.keys.run(RunId("run-gone"))) == 0
