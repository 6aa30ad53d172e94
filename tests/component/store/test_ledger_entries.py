"""Recording the calls of a run that had several owners: each once, by what its own owner knows if possible."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.ledger import ModelCall, call_id, next_call_id
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.llm.ledger import Ledger
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.llm.rate_limits import Amounts, Budget, RateLimits
from openclaw_workers.store.turn_records import Lease, Outcome
from tests.component.store.harness import SESSION, StoreHarness

LOST, REAL = Usage(input=100), Usage(input=3, output=2)


def call(store: StoreHarness, lease: Lease, number: int, usage: Usage, outcome: str = "ok") -> ModelCall:
    return ModelCall(
        id=call_id(lease.run, lease.fence, number),
        at=store.now(),
        run=lease.run,
        session=SESSION,
        agent="main",
        tree=SESSION,
        provider="p",
        model="m",
        usage=usage,
        cost=usage.total / 10,
        milliseconds=0 if outcome == "lost" else 2_000,
        outcome=outcome,
        estimated=outcome == "lost",
    )


def test_what_an_owner_says_itself_takes_the_place_of_its_heirs_guess(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    guess, truth = call(store, lease, 1, LOST, "lost"), call(store, lease, 1, REAL)
    for reported in (guess, truth, guess, truth):
        store.turns().record_calls(lease, LedgerEntries([reported], ["day"]))
    assert list(Ledger(store.redis, store.keys).calls()) == [truth]
    spent = {what: float(amount) for what, amount in store.redis.hgetall(store.keys.spent("day")).items()}
    assert spent == {"tokens": 5, "cost": 0.5, "calls": 1, "seconds": 2}
    assert (store.run(lease.run).cost, store.run(lease.run).usage) == (0.5, REAL)


@pytest.mark.parametrize("first", ["guess", "truth"])
def test_the_usage_of_a_run_is_the_sum_of_its_calls_whoever_records_them(store: StoreHarness, first: str) -> None:
    """An heir's guess, what the owner says itself, a call that failed before its owner died, and an answer."""
    store.say("one")
    slept, turns = store.take().lease, store.turns()
    turns.record_calls(slept, LedgerEntries([call(store, slept, 1, Usage(input=7), "cut")]))
    store.crash()
    heir = store.take()
    reported = [(heir.lease, call(store, slept, 2, LOST, "lost")), (slept, call(store, slept, 2, REAL))]
    for lease, each in reported if first == "guess" else reported[::-1]:
        turns.record_calls(lease, LedgerEntries([each]))
    turns.step(heir.lease, 1, [], calls=LedgerEntries([call(store, heir.lease, 1, Usage(cache_read=9, cache_write=1))]))
    store.commit(heir, usage=Usage(output=5))

    calls = list(Ledger(store.redis, store.keys).calls())
    assert len(calls) == 4
    spent = Usage()
    for each in calls:
        spent = spent.plus(each.usage)
    assert store.run(slept.run).usage == spent == Usage(input=10, output=7, cache_read=9, cache_write=1)
    assert store.row()["totalTokens"] == str(spent.total)


@pytest.mark.parametrize("first", ["lost", "ok"])
def test_a_call_that_is_recorded_before_and_after_midnight_is_one(store: StoreHarness, first: str) -> None:
    store.say("one")
    lease = store.take().lease
    reported = [call(store, lease, 1, LOST, "lost"), call(store, lease, 1, REAL)]
    if first == "ok":
        reported.reverse()
    yesterday = reported[0].model_copy(update={"at": reported[0].at - 86_400_000})
    for each in (yesterday, reported[1], reported[1]):
        store.turns().record_calls(lease, LedgerEntries([each], ["tree"]))

    (recorded,) = Ledger(store.redis, store.keys).calls(days=2)
    assert (recorded.outcome, recorded.usage) == ("ok", REAL)
    assert float(str(store.redis.hget(store.keys.spent("tree"), "tokens"))) == REAL.total


def test_who_has_lost_its_run_records_its_calls_all_the_same(store: StoreHarness) -> None:
    """Rule 14: whichever write it is that tells it so."""
    store.say("one")
    lease, turns = store.take().lease, store.turns()
    slept = replace(lease, token=f"{lease.fence}:slept")
    calls = [call(store, lease, number, REAL) for number in range(1, 5)]
    made = [LedgerEntries([each], ["day"]) for each in calls]

    turns.record_calls(slept, made[0])
    with pytest.raises(LeaseLost):
        turns.step(slept, 1, [], calls=made[1])
    with pytest.raises(LeaseLost):
        turns.release(slept, calls=made[2])
    with pytest.raises(LeaseLost):
        turns.commit(slept, "main", Outcome(RunState.OK, "complete", MessageState.ANSWERED), calls=made[3])

    assert sorted(Ledger(store.redis, store.keys).calls(), key=lambda each: each.id) == calls
    assert float(str(store.redis.hget(store.keys.spent("day"), "calls"))) == 4


def test_a_recorded_call_gives_back_what_was_reserved_for_it_and_for_no_other(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    first, second = (call(store, lease, number, REAL) for number in (1, 2))
    RateLimits(store.redis, store.keys).reserve(lease.run, second.id, Amounts(tokens=60), [Budget("day", tokens=100)])
    store.turns().record_calls(lease, LedgerEntries([first], ["day"]))
    assert store.redis.hkeys(store.keys.reserved("day")) == [lease.run], "the call that it is for is still made"
    store.turns().record_calls(lease, LedgerEntries([second], ["day"]))
    assert store.redis.hlen(store.keys.reserved("day")) == 0


@pytest.mark.parametrize(
    "raw", ["torn", "7", "null", '{"outcome": "lost"}', '{"outcome": "lost", "usage": {"input": "x"}}']
)
def test_an_entry_that_cannot_be_read_keeps_no_turn_from_its_step(store: StoreHarness, raw: str) -> None:
    store.say("one")
    lease = store.take().lease
    truth = call(store, lease, 1, REAL)
    store.redis.hset(store.keys.ledger(truth.day), truth.id, raw)
    store.turns().step(lease, 1, [], calls=LedgerEntries([truth], ["day"]))
    assert store.ctl("step") == "1"


def test_an_owner_that_died_is_remembered_until_what_it_asked_is_recorded(store: StoreHarness) -> None:
    """Rule 14: also if whoever was to book it died as well."""
    store.say("one")
    first = store.take().lease
    store.crash()
    second = store.take()
    assert second.dead == (first.fence,)
    store.crash()
    third = store.take()
    assert third.dead == (first.fence, second.lease.fence)

    store.turns().record_calls(third.lease, LedgerEntries([call(store, first, 1, LOST, "lost")]))
    assert store.run(first.run).dead == [second.lease.fence]
    with pytest.raises(LeaseLost):
        store.turns().step(first, 1, [], calls=LedgerEntries([call(store, second.lease, 1, LOST, "lost")]))
    assert store.run(first.run).dead == []


def test_an_owner_with_a_tool_at_work_was_asking_nobody(store: StoreHarness) -> None:
    store.say("one")
    store.turns().step(store.take().lease, 1, [], starting="call-1")
    store.crash()
    assert store.take().dead == ()


def test_a_sweeper_that_dies_over_a_lost_run_is_not_taken_for_one_that_asked(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    store.expire()
    assert store.recover(max_attempts=1).lease is not None
    store.expire()
    assert store.recover(max_attempts=1).lease is not None
    assert store.run(lease.run).dead == [lease.fence]


def test_an_heir_knows_the_call_that_its_forerunner_died_over(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    assert next_call_id(store.run(lease.run).last_call, lease.run, lease.fence) == call_id(lease.run, lease.fence, 1)
    store.turns().record_calls(lease, LedgerEntries([call(store, lease, 1, REAL, "cut")]))
    store.turns().step(lease, 1, [], calls=LedgerEntries([call(store, lease, 2, REAL)]))
    third = call_id(lease.run, lease.fence, 3)
    assert next_call_id(store.run(lease.run).last_call, lease.run, lease.fence) == third

    stale = replace(lease, token=f"{lease.fence}:slept")
    store.turns().record_calls(stale, LedgerEntries([call(store, lease, 3, REAL)]))
    assert next_call_id(store.run(lease.run).last_call, lease.run, lease.fence) == third, "it is still that one"
    heirs = lease.fence + 1
    assert next_call_id(store.run(lease.run).last_call, lease.run, heirs) == call_id(lease.run, heirs, 1)
    assert next_call_id("in an older form", RunId("run-1"), 4) == "run-1:4:1"
