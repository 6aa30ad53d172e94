"""Booking calls of a run that had several owners: each call once, as its own owner knows it where that can be told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openclaw_workers.errors import LeaseLost
from openclaw_workers.models.ids import RunId
from openclaw_workers.models.ledger import ModelCall, call_after, call_id
from openclaw_workers.models.messages import MessageState
from openclaw_workers.models.runs import RunState
from openclaw_workers.models.transcript import Usage
from openclaw_workers.store.books import Books
from openclaw_workers.store.ledger import Ledger
from openclaw_workers.store.limits import Amounts, Budget, Limits
from openclaw_workers.store.turns import Lease, Outcome
from tests.unit.store.desk import SESSION, Desk

LOST, REAL = Usage(input=100), Usage(input=3, output=2)


def call(desk: Desk, lease: Lease, number: int, usage: Usage, outcome: str = "ok") -> ModelCall:
    return ModelCall(
        id=call_id(lease.run, lease.fence, number),
        at=desk.now(),
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


def test_what_an_owner_says_itself_takes_the_place_of_its_heirs_guess(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    guess, truth = call(desk, lease, 1, LOST, "lost"), call(desk, lease, 1, REAL)
    for told in (guess, truth, guess, truth):
        desk.turns().book(lease, Books([told], ["day"]))
    assert list(Ledger(desk.redis, desk.keys).calls()) == [truth]
    spent = {what: float(amount) for what, amount in desk.redis.hgetall(desk.keys.spent("day")).items()}
    assert spent == {"tokens": 5, "cost": 0.5, "calls": 1, "seconds": 2}
    assert (desk.run(lease.run).cost, desk.run(lease.run).usage) == (0.5, REAL)


@pytest.mark.parametrize("first", ["guess", "truth"])
def test_the_usage_of_a_run_is_the_sum_of_its_calls_whoever_books_them(desk: Desk, first: str) -> None:
    """An heir's guess, what the owner says itself, a call that failed before its owner died, and an answer."""
    desk.say("one")
    slept, turns = desk.take().lease, desk.turns()
    turns.book(slept, Books([call(desk, slept, 1, Usage(input=7), "cut")]))
    desk.crash()
    heir = desk.take()
    told = [(heir.lease, call(desk, slept, 2, LOST, "lost")), (slept, call(desk, slept, 2, REAL))]
    for lease, each in told if first == "guess" else told[::-1]:
        turns.book(lease, Books([each]))
    turns.step(heir.lease, 1, [], books=Books([call(desk, heir.lease, 1, Usage(cache_read=9, cache_write=1))]))
    desk.commit(heir, usage=Usage(output=5))

    calls = list(Ledger(desk.redis, desk.keys).calls())
    assert len(calls) == 4
    spent = Usage()
    for each in calls:
        spent = spent.plus(each.usage)
    assert desk.run(slept.run).usage == spent == Usage(input=10, output=7, cache_read=9, cache_write=1)
    assert desk.row()["totalTokens"] == str(spent.total)


@pytest.mark.parametrize("first", ["lost", "ok"])
def test_a_call_that_is_told_of_before_and_after_midnight_is_one(desk: Desk, first: str) -> None:
    desk.say("one")
    lease = desk.take().lease
    told = [call(desk, lease, 1, LOST, "lost"), call(desk, lease, 1, REAL)]
    if first == "ok":
        told.reverse()
    yesterday = told[0].model_copy(update={"at": told[0].at - 86_400_000})
    for each in (yesterday, told[1], told[1]):
        desk.turns().book(lease, Books([each], ["tree"]))

    (booked,) = Ledger(desk.redis, desk.keys).calls(days=2)
    assert (booked.outcome, booked.usage) == ("ok", REAL)
    assert float(str(desk.redis.hget(desk.keys.spent("tree"), "tokens"))) == REAL.total


def test_who_has_lost_its_run_books_its_calls_all_the_same(desk: Desk) -> None:
    """Rule 14: whichever write it is that tells it so."""
    desk.say("one")
    lease, turns = desk.take().lease, desk.turns()
    slept = replace(lease, token=f"{lease.fence}:slept")
    calls = [call(desk, lease, number, REAL) for number in range(1, 5)]
    made = [Books([each], ["day"]) for each in calls]

    turns.book(slept, made[0])
    with pytest.raises(LeaseLost):
        turns.step(slept, 1, [], books=made[1])
    with pytest.raises(LeaseLost):
        turns.release(slept, books=made[2])
    with pytest.raises(LeaseLost):
        turns.commit(slept, "main", Outcome(RunState.OK, "complete", MessageState.ANSWERED), books=made[3])

    assert sorted(Ledger(desk.redis, desk.keys).calls(), key=lambda each: each.id) == calls
    assert float(str(desk.redis.hget(desk.keys.spent("day"), "calls"))) == 4


def test_a_booked_call_gives_back_what_was_set_aside_for_it_and_for_no_other(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    first, second = (call(desk, lease, number, REAL) for number in (1, 2))
    Limits(desk.redis, desk.keys).reserve(lease.run, second.id, Amounts(tokens=60), [Budget("day", tokens=100)])
    desk.turns().book(lease, Books([first], ["day"]))
    assert desk.redis.hkeys(desk.keys.aside("day")) == [lease.run], "the call that it is for is still made"
    desk.turns().book(lease, Books([second], ["day"]))
    assert desk.redis.hlen(desk.keys.aside("day")) == 0


@pytest.mark.parametrize(
    "raw", ["torn", "7", "null", '{"outcome": "lost"}', '{"outcome": "lost", "usage": {"input": "x"}}']
)
def test_an_entry_that_cannot_be_read_keeps_no_turn_from_its_step(desk: Desk, raw: str) -> None:
    desk.say("one")
    lease = desk.take().lease
    truth = call(desk, lease, 1, REAL)
    desk.redis.hset(desk.keys.ledger(truth.day), truth.id, raw)
    desk.turns().step(lease, 1, [], books=Books([truth], ["day"]))
    assert desk.ctl("step") == "1"


def test_an_owner_that_died_is_remembered_until_what_it_asked_is_booked(desk: Desk) -> None:
    """Rule 14: also if whoever was to book it died as well."""
    desk.say("one")
    first = desk.take().lease
    desk.crash()
    second = desk.take()
    assert second.dead == (first.fence,)
    desk.crash()
    third = desk.take()
    assert third.dead == (first.fence, second.lease.fence)

    desk.turns().book(third.lease, Books([call(desk, first, 1, LOST, "lost")]))
    assert desk.run(first.run).dead == [second.lease.fence]
    with pytest.raises(LeaseLost):
        desk.turns().step(first, 1, [], books=Books([call(desk, second.lease, 1, LOST, "lost")]))
    assert desk.run(first.run).dead == []


def test_an_owner_that_rests_leaves_no_call_behind_and_makes_none_if_it_only_slept(desk: Desk) -> None:
    desk.say("one")
    slept, turns = desk.take().lease, desk.turns()
    turns.rest(slept, rests=True)
    desk.crash()
    heir = desk.take()
    assert heir.dead == ()
    for rests in (True, False):
        with pytest.raises(LeaseLost):
            turns.rest(slept, rests=rests)

    turns.rest(heir.lease, rests=True)
    turns.rest(heir.lease, rests=False)
    desk.crash()
    assert desk.take().dead == (heir.lease.fence,)


def test_an_owner_with_a_tool_at_work_was_asking_nobody(desk: Desk) -> None:
    desk.say("one")
    desk.turns().step(desk.take().lease, 1, [], starting="call-1")
    desk.crash()
    assert desk.take().dead == ()


def test_a_sweeper_that_dies_over_a_lost_run_is_not_taken_for_one_that_asked(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    desk.expire()
    assert desk.rescue(max_attempts=1).lease is not None
    desk.expire()
    assert desk.rescue(max_attempts=1).lease is not None
    assert desk.run(lease.run).dead == [lease.fence]


def test_an_heir_knows_the_call_that_its_forerunner_died_over(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    assert call_after(desk.run(lease.run).last_call, lease.run, lease.fence) == call_id(lease.run, lease.fence, 1)
    desk.turns().book(lease, Books([call(desk, lease, 1, REAL, "cut")]))
    desk.turns().step(lease, 1, [], books=Books([call(desk, lease, 2, REAL)]))
    third = call_id(lease.run, lease.fence, 3)
    assert call_after(desk.run(lease.run).last_call, lease.run, lease.fence) == third

    stale = replace(lease, token=f"{lease.fence}:slept")
    desk.turns().book(stale, Books([call(desk, lease, 3, REAL)]))
    assert call_after(desk.run(lease.run).last_call, lease.run, lease.fence) == third, "it is still that one"
    heirs = lease.fence + 1
    assert call_after(desk.run(lease.run).last_call, lease.run, heirs) == call_id(lease.run, heirs, 1)
    assert call_after("in an older form", RunId("run-1"), 4) == "run-1:4:1"
