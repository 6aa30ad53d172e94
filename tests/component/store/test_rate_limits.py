"""Limits in fair order, and budgets that parallel calls cannot overspend by more than one reservation."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.llm.rate_limits import SILENT_MS, Amounts, Budget, Exhausted, Limit, RateLimits
from openclaw_workers.store.turn_records import Outcome
from tests.component.store.harness import SESSION, StoreHarness
from tests.support.redis_server import RedisServer

A, B, C, D, E = (RunId(f"run-{name}") for name in "abcde")


@pytest.fixture
def limits(store: StoreHarness) -> RateLimits:
    return RateLimits(store.redis, store.keys)


def test_only_so_many_call_at_a_time_and_the_next_is_who_came_first(limits: RateLimits) -> None:
    limit = Limit("p", concurrent=1)
    assert limits.ask([limit], A, "call-1", 10) == 0
    assert limits.ask([limit], B, "call-2", 10) > 0
    assert limits.ask([limit], C, "call-3", 10) > 0
    limits.done([limit], A, "call-1")

    assert limits.ask([limit], C, "call-4", 10) > 0, "B came first"
    assert limits.ask([limit], B, "call-5", 10) == 0
    limits.done([limit], B, "call-5")
    assert limits.ask([limit], C, "call-6", 10) == 0


def test_a_run_that_asks_again_keeps_the_place_it_has(limits: RateLimits) -> None:
    """As after its worker died: the next owner makes the call again."""
    limit = Limit("p", concurrent=1)
    assert limits.ask([limit], A, "call-7", 10) == 0
    assert limits.ask([limit], A, "call-8", 10) == 0
    assert limits.ask([limit], B, "call-b", 10) > 0
    for call in ("call-8", "call-8a"):
        assert limits.ask([limit], A, call, 10) == 0, "B waits for this very place"
    assert limits.ask([limit], B, "call-b", 10) > 0
    limits.done([limit], A, "call-8")
    assert limits.ask([limit], B, "call-b", 10) > 0, "an owner that only slept gives nothing of its heir's back"
    limits.done([limit], A, "call-8a")
    assert limits.ask([limit], B, "call-b", 10) == 0


def test_a_waiter_that_fell_silent_blocks_nobody(limits: RateLimits, store: StoreHarness) -> None:
    limit = Limit("p", concurrent=1)
    limits.ask([limit], A, "call-9", 10)
    limits.ask([limit], B, "call-10", 10)
    limits.done([limit], A, "call-9")
    store.redis.hset(store.keys.asked("p"), B, store.now() - SILENT_MS - 1)
    assert limits.ask([limit], C, "call-11", 10) == 0


def test_requests_and_tokens_of_the_last_minute_count(limits: RateLimits, store: StoreHarness) -> None:
    by_requests, by_tokens = Limit("r", requests_per_minute=1), Limit("t", tokens_per_minute=100)
    assert limits.ask([by_requests], A, "call-12", 10) == 0
    limits.done([by_requests], A, "call-12")
    assert limits.ask([by_requests], B, "call-13", 10) > 0
    assert limits.ask([by_tokens], A, "call-14", 60) == 0
    assert limits.ask([by_tokens], B, "call-15", 60) > 0
    for name in ("r", "t"):
        (member,) = store.redis.zrange(store.keys.recent(name), 0, -1)
        store.redis.zadd(store.keys.recent(name), {str(member): store.now() - 60_001})
    assert limits.ask([by_requests], B, "call-16", 10) == 0
    assert limits.ask([by_tokens], B, "call-17", 60) == 0


def test_a_call_larger_than_the_limit_goes_alone(limits: RateLimits) -> None:
    assert limits.ask([Limit("t", tokens_per_minute=100)], A, "call-18", 5_000) == 0


PROVIDER, DEAR = Limit("p", concurrent=2), Limit("p//dear", concurrent=1)


def test_who_waits_for_one_limit_takes_no_place_in_another(limits: RateLimits, store: StoreHarness) -> None:
    """Else a model that is busy would hold up all others of its provider."""
    assert limits.ask([PROVIDER, DEAR], A, "call-1", 10) == 0
    assert limits.ask([PROVIDER, DEAR], B, "call-2", 10) > 0
    assert store.redis.zrange(store.keys.working("p"), 0, -1) == [A]
    assert limits.ask([PROVIDER], C, "call-3", 10) == 0, "the provider has room, and does not hold B up"


def test_who_came_first_is_served_first_by_whatever_it_is_held_up_later(limits: RateLimits) -> None:
    limits.ask([PROVIDER, DEAR], A, "call-1", 10)
    limits.ask([PROVIDER, DEAR], B, "call-2", 10)
    limits.ask([PROVIDER], C, "call-3", 10)
    assert limits.ask([PROVIDER], D, "call-4", 10) > 0
    limits.done([PROVIDER, DEAR], A, "call-1")
    assert limits.ask([PROVIDER], E, "call-5", 10) > 0
    assert limits.ask([PROVIDER, DEAR], B, "call-2", 10) == 0, (
        "D has stood in this line longer, but B has waited longer"
    )
    assert limits.ask([PROVIDER], D, "call-4", 10) > 0
    limits.done([PROVIDER], C, "call-3")
    assert limits.ask([PROVIDER], E, "call-5", 10) > 0
    assert limits.ask([PROVIDER], D, "call-4", 10) == 0


def test_a_place_in_all_is_given_back_in_all(limits: RateLimits, store: StoreHarness) -> None:
    limits.ask([PROVIDER, DEAR], A, "call-1", 10)
    limits.ask([PROVIDER, DEAR], B, "call-2", 10)
    limits.done([PROVIDER, DEAR], A, "call-1")
    limits.done([PROVIDER, DEAR], B, "call-2")
    for name in ("p", "p//dear"):
        assert store.redis.zcard(store.keys.working(name)) == store.redis.zcard(store.keys.waiting(name)) == 0
        assert store.redis.hlen(store.keys.asked(name)) == 0


def test_a_place_is_kept_while_its_owner_holds_on_to_it(limits: RateLimits, store: StoreHarness) -> None:
    limit, day = Limit("p", concurrent=1), Budget("day", tokens=100)

    def ends() -> tuple[float, float]:
        reservation = json.loads(str(store.redis.hget(store.keys.reserved("day"), A)))
        return float(str(store.redis.zscore(store.keys.working("p"), A))), float(reservation["until"])

    def age(until: int) -> None:
        reservation = json.loads(str(store.redis.hget(store.keys.reserved("day"), A)))
        store.redis.hset(store.keys.reserved("day"), A, json.dumps({**reservation, "until": until}))
        store.redis.zadd(store.keys.reserved_ends("day"), {A: until})
        store.redis.zadd(store.keys.working("p"), {A: until})

    limits.reserve(A, "call-1", Amounts(tokens=60), [day])
    limits.ask([limit], A, "call-1", 10)
    soon = store.now() + 5_000
    age(soon)
    limits.renew_reservation(A, "another", [limit], [day])
    assert ends() == (soon, soon)
    limits.renew_reservation(A, "call-1", [limit], [day])
    assert min(ends()) > soon + 5_000

    age(store.now() - 1)
    assert limits.reserve(B, "call-2", Amounts(tokens=60), [day]) is True
    assert limits.ask([limit], B, "call-2", 10) == 0
    limits.renew_reservation(A, "call-1", [limit], [day])
    assert store.redis.zrange(store.keys.working("p"), 0, -1) == store.redis.hkeys(store.keys.reserved("day")) == [B]
    assert set(store.redis.hkeys(store.keys.asked("p"))) == {f"call {B}"}, "nothing is left of who died"


def test_seconds_count_while_they_pass_those_of_all_calls_under_way(limits: RateLimits, store: StoreHarness) -> None:
    day = Budget("day", seconds=100)
    spend(store, "day", seconds=10)
    for run in (A, B):
        assert limits.reserve(run, f"call-{run}", Amounts(seconds=5), [day]) is True
    assert limits.renew_reservation(A, f"call-{A}", [], [day], 30.0) == pytest.approx(30, abs=1), (
        "two share what is left"
    )
    assert limits.reserve(C, "call-c", Amounts(seconds=60), [day]) is False, "more is taken than was reserved"
    assert limits.reserve(C, "call-c", Amounts(seconds=50), [day]) is True
    answer = limits.renew_reservation(B, f"call-{B}", [], [day], 61.0)
    assert isinstance(answer, Exhausted)
    assert (answer.what, answer.limit) == ("seconds", 100)
    assert answer.spent == pytest.approx(101, abs=1)
    assert limits.renew_reservation(B, f"call-{B}", [], [day], 0.0) == pytest.approx(20, abs=1), (
        "who waits has taken nothing yet"
    )
    assert limits.renew_reservation(A, f"call-{A}", [], [Budget("day", tokens=5)], 500.0) == float("inf")


def test_who_waits_gets_no_place_by_holding_on(limits: RateLimits, store: StoreHarness) -> None:
    """The ticker asks for it in any case: it does not know whether the call has begun."""
    limit = Limit("p", concurrent=1)
    limits.ask([limit], A, "call-1", 10)
    assert limits.ask([limit], B, "call-2", 10) > 0
    limits.renew_reservation(B, "call-2", [limit], [])
    assert store.redis.zrange(store.keys.working("p"), 0, -1) == [A]


def test_a_call_asked_for_twice_counts_once_in_its_minute(limits: RateLimits) -> None:
    """Rule 13: the first answer may have been lost on its way."""
    limit = Limit("r", requests_per_minute=1, tokens_per_minute=15)
    assert [limits.ask([limit], A, "call-1", 10) for _ in range(2)] == [0, 0]
    assert limits.ask([limit], A, "call-2", 10) > 0


def spend(store: StoreHarness, name: str, **amounts: float) -> None:
    for what, amount in amounts.items():
        store.redis.hincrbyfloat(store.keys.spent(name), what, amount)


def test_what_others_set_aside_makes_a_call_wait(limits: RateLimits) -> None:
    day = Budget("day", tokens=100)
    assert limits.reserve(A, "c1", Amounts(tokens=60), [day]) is True
    assert limits.reserve(B, "c2", Amounts(tokens=60), [day]) is False
    assert limits.reserve(A, "c3", Amounts(tokens=60), [day]) is True, "its own is replaced"


def test_a_budget_is_passed_by_one_reservation_at_most(limits: RateLimits, store: StoreHarness) -> None:
    day = Budget("day", tokens=100)
    spend(store, "day", tokens=90)
    assert limits.reserve(A, "c1", Amounts(tokens=60), [day]) is True, "nobody else has reserved anything"
    assert limits.reserve(B, "c2", Amounts(tokens=1), [day]) is False


def test_what_is_spent_says_no_and_names_the_budget(limits: RateLimits, store: StoreHarness) -> None:
    spend(store, "tree", cost=2.5)
    answer = limits.reserve(A, "c1", Amounts(cost=0.1), [Budget("day", tokens=100), Budget("tree", cost=2.0)])
    assert answer == Exhausted(Budget("tree", cost=2.0), "cost", 2.5, 2.0)
    assert store.redis.hlen(store.keys.reserved("day")) == 0, "nothing is reserved for a call that is not made"


def test_a_reservation_that_nobody_gives_back_ends_by_itself(limits: RateLimits, store: StoreHarness) -> None:
    """As after its run was given up: others would wait for it for ever."""
    day = Budget("day", tokens=100)
    assert limits.reserve(A, "c1", Amounts(tokens=60), [day]) is True
    reservation = json.loads(str(store.redis.hget(store.keys.reserved("day"), A)))
    store.redis.hset(store.keys.reserved("day"), A, json.dumps({**reservation, "until": store.now() - 1}))
    store.redis.zadd(store.keys.reserved_ends("day"), {A: store.now() - 1})
    assert limits.reserve(B, "c2", Amounts(tokens=60), [day]) is True
    assert store.redis.hkeys(store.keys.reserved("day")) == [B]


def test_a_turn_that_ends_or_is_handed_over_keeps_nothing_aside(limits: RateLimits, store: StoreHarness) -> None:
    """Whether or not its call was made."""
    day, calls = Budget("day", tokens=100), LedgerEntries(budgets=["day"])
    store.say("one")
    for end in ("release", "commit"):
        lease = store.take().lease
        limits.reserve(lease.run, "never made", Amounts(tokens=60), [day])
        if end == "release":
            store.turns().release(lease, calls=calls)
        else:
            outcome = Outcome(RunState.OK, "complete", MessageState.ANSWERED)
            store.turns().commit(lease, "main", outcome, calls=calls)
        assert store.redis.hlen(store.keys.reserved("day")) == 0, end


def test_the_cost_of_a_reservation_does_not_grow_with_the_calls_in_progress(
    redis_server: RedisServer, namespace: str
) -> None:
    """Redis would spend a core on reservations at a thousand calls in progress."""
    redis, day = redis_server.client(), Budget("day", tokens=10**9, seconds=10**9)
    limits = RateLimits(redis, Keys(namespace))
    redis.config_resetstat()

    def commands() -> int:
        stats = redis.info("commandstats")
        return sum(int(each["calls"]) for each in stats.values())

    def cost_of_one() -> int:
        before = commands()
        limits.reserve(A, "call-a", Amounts(tokens=1, seconds=1), [day])
        limits.renew_reservation(A, "call-a", [], [day], 1.0)
        return commands() - before

    limits.reserve(B, "call-b", Amounts(tokens=1, seconds=1), [day])
    limits.reserve(A, "call-a", Amounts(tokens=1, seconds=1), [day])
    few = cost_of_one()
    for number in range(300):
        limits.reserve(RunId(f"run-{number}"), f"call-{number}", Amounts(tokens=1, seconds=1), [day])
    assert cost_of_one() == few
    stats = redis.info("commandstats")
    assert not {"cmdstat_hgetall", "cmdstat_hvals"} & set(stats), "no script reads every reservation"


@pytest.mark.parametrize("raw", ["no json", "[]", '{"call": "c0"}', "7", "null"])
def test_a_reservation_that_cannot_be_read_is_none(limits: RateLimits, store: StoreHarness, raw: str) -> None:
    day = Budget("day", tokens=100)
    store.redis.hset(store.keys.reserved("day"), B, raw)
    with capture_logs() as logs:
        assert limits.reserve(A, "c1", Amounts(tokens=60), [day]) is True
    assert [(line["event"], line["count"]) for line in logs] == [("budget.unreadable", 1)]
    assert store.redis.hkeys(store.keys.reserved("day")) == [A]


def test_a_sum_that_cannot_be_read_is_reset(limits: RateLimits, store: StoreHarness) -> None:
    day = Budget("day", tokens=100)
    store.redis.hset(store.keys.spent("day"), "tokens", "many")
    with capture_logs() as logs:
        assert limits.reserve(A, "c1", Amounts(tokens=60), [day]) is True
    assert [line["event"] for line in logs] == ["budget.unreadable"]


def test_a_call_is_recorded_though_sum_and_reservation_cannot_be_read(store: StoreHarness) -> None:
    """The step it belongs to must not fail for that."""
    store.say("one")
    lease = store.take().lease
    store.redis.hset(store.keys.spent("day"), "tokens", "many")
    store.redis.hset(store.keys.reserved("day"), lease.run, "no json")
    call = ModelCall(
        id="call-1",
        at=store.now(),
        run=lease.run,
        session=SESSION,
        agent="main",
        tree=SESSION,
        provider="p",
        model="m",
        usage=Usage(input=3, output=2),
        cost=0.5,
    )
    store.turns().record_calls(lease, LedgerEntries([call], ["day"]))
    spent = store.redis.hgetall(store.keys.spent("day"))
    assert (float(spent["tokens"]), float(spent["cost"])) == (5, 0.5)
