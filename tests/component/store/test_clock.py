"""Redis' clock steps back: what counts from now is shifted once, calendar times stay, and nobody waits for the step."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.domain.ids import MessageId, RunId, WorkerId
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.runs import Lane
from openclaw_workers.errors import FailureReason
from openclaw_workers.store import scripts
from openclaw_workers.store.llm.cooldowns import CooldownList, Cooldowns
from openclaw_workers.store.llm.rate_limits import KEEP_MS, SILENT_MS, Amounts, Budget, Limit, RateLimits
from openclaw_workers.store.turn_records import Taken
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import LEASE_MS, SESSION, StoreHarness, session_named
from tests.support.clock import Clock, shift_times, shifted_source

HOUR = 3600
A, B, C = (RunId(f"run-{name}") for name in "abc")


@pytest.fixture
def clock(store: StoreHarness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    monkeypatch.setattr(scripts, "script_source", shifted_source(scripts.script_source))
    shift_times(store.redis, tmp_path / "clock")
    return Clock(store.redis, tmp_path / "clock")


def sweep_after_grace(store: StoreHarness, clock: Clock, seconds: int) -> list[str]:
    """What a sweep finds that comes one lease after the step to `seconds` was noticed."""
    for passed in range(0, LEASE_MS // 1000, 2):
        clock.set(seconds + passed)
        assert store.due.claim().items == [], "nobody is judged right after a step"
    clock.set(seconds + LEASE_MS // 1000 + 1)
    return store.due.claim().items


def test_what_counts_from_now_is_shifted_once_and_calendar_times_stay(store: StoreHarness, clock: Clock) -> None:
    store.due.claim()
    before = store.now()
    times = {"turn|a": 1_000, "batch|b": 2_000, "archive|c": 3_000, "job|noon": 4_000}
    store.redis.zadd(store.keys.due, {item: before + ms for item, ms in times.items()})

    clock.set(-HOUR)
    store.due.claim()
    now = store.now()
    store.due.claim()

    ahead = {item: (store.due_at(item) or 0) - now for item in times}
    assert all(abs(ahead[item] - times[item]) < 500 for item in ("turn|a", "batch|b", "archive|c")), ahead
    assert store.due_at("job|noon") == before + 4_000


def test_a_step_back_is_shifted_in_bounded_portions_and_one_after_the_other(store: StoreHarness, clock: Clock) -> None:
    store.due.claim()
    before = store.now()
    store.redis.zadd(store.keys.due, {f"turn|{number}": before + 100_000 + number for number in range(1_200)})
    clock.set(-HOUR)

    assert store.due.claim() == (0, 0, [])
    left = store.redis.zcard(store.keys.due_before_step)
    assert 0 < left < 1_200
    store.redis.zadd(store.keys.due, {"turn|0": store.now() + 7_000})
    clock.set(-2 * HOUR)  # once more, in the middle of it
    for _ in range(10):
        store.due.claim()

    assert store.redis.zcard(store.keys.due_before_step) == 0
    assert store.redis.zcard(store.keys.due) == 1_200
    now = store.now()
    assert store.redis.zcount(store.keys.due, now, now + 110_000) == 1_200
    assert abs((store.due_at("turn|0") or 0) - now - 7_000) < 500, (
        "what was put in since is not shifted by the first step"
    )


def test_a_dead_owner_is_found_a_lease_after_the_step(store: StoreHarness, clock: Clock) -> None:
    store.say("hi")
    store.take("w1")
    store.due.claim()

    clock.set(-HOUR)

    assert sweep_after_grace(store, clock, -HOUR) == [f"turn|{SESSION}"]
    assert store.recover().verb == "wake"


def test_a_live_owner_keeps_its_run(store: StoreHarness, clock: Clock) -> None:
    store.say("hi")
    taken = store.take("w1")
    store.due.claim()

    clock.set(-HOUR)
    assert store.recover().verb == "wait", "also where no sweep has noticed the step yet"
    for passed in range(0, 3 * LEASE_MS // 1000, 2):
        clock.set(-HOUR + passed)
        store.due.claim()
        assert store.recover().verb == "wait"
        store.leases.tick(WorkerId("w1"), {}, [taken.lease])

    assert store.ctl("lease") == taken.lease.token


def test_a_debounce_does_not_last_as_much_longer(store: StoreHarness, clock: Clock) -> None:
    store.due.claim()
    store.say("one")
    taken = store.take()
    store.say("two", debounce_ms=2_000)
    store.commit(taken)
    assert store.refused() == "early"

    clock.set(-HOUR)

    assert sweep_after_grace(store, clock, -HOUR) == [f"turn|{SESSION}"]
    assert store.recover().verb == "wake"
    store.take()


def test_a_message_from_before_the_step_debounces_from_now(store: StoreHarness, clock: Clock) -> None:
    store.say("one")
    taken = store.take()
    store.say("two", debounce_ms=2_000)

    clock.set(-HOUR)

    assert store.commit(taken).delay_ms <= 2_000


def test_a_granted_slot_that_nobody_uses_is_granted_again(make_store: MakeStore, clock: Clock) -> None:
    store = make_store(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        store.say("hi", session=session)
    taken = store.take(session=first)
    for session in (second, third):
        assert store.refused(session=session) == "lane"
    store.commit(taken)
    store.due.claim()

    clock.set(-HOUR)

    sweep_after_grace(store, clock, -HOUR)
    assert [session for _, session in store.recover(second).granted] == [second], "it kept its ticket"
    slot = store.redis.zscore(store.keys.slots(Lane.MAIN), second)
    assert slot is not None
    assert slot < store.now() + LEASE_MS


def test_a_lost_wake_up_is_not_taken_for_one_that_still_waits_in_the_queue(store: StoreHarness, clock: Clock) -> None:
    store.say("hi")
    clock.set(-HOUR)
    assert store.recover(oldest_wake_ms=store.now()).verb == "wait"

    clock.set(-HOUR + 60)

    assert store.recover(oldest_wake_ms=store.now()).verb == "wake", "those in the queue are newer"


def test_entries_of_a_rate_limit_that_lie_ahead_hold_nobody_up(store: StoreHarness, clock: Clock) -> None:
    limits, limit = RateLimits(store.redis, store.keys), Limit("p", requests_per_minute=1)
    assert limits.ask([limit], A, "call-1", 10) == 0
    assert limits.ask([limit], B, "call-2", 10) > 0

    clock.set(-HOUR)

    assert limits.ask([limit], B, "call-2", 10) == 0
    assert limits.ask([limit], C, "call-3", 10) > 0, "the limit holds for what came since"


def test_the_place_of_a_dead_caller_ends_and_so_does_a_silent_waiter(store: StoreHarness, clock: Clock) -> None:
    limits, limit = RateLimits(store.redis, store.keys), Limit("p", concurrent=1)
    assert limits.ask([limit], A, "call-1", 10) == 0
    for run in (B, C):
        assert limits.ask([limit], run, f"call-{run}", 10) > 0
    clock.set(-HOUR)
    assert limits.ask([limit], C, f"call-{C}", 10) > 0, "the caller may be alive"

    clock.set(-HOUR + max(KEEP_MS, SILENT_MS) // 1000 + 1)

    assert limits.ask([limit], C, f"call-{C}", 10) == 0


def test_what_a_dead_caller_set_aside_ends(store: StoreHarness, clock: Clock) -> None:
    limits, budget = RateLimits(store.redis, store.keys), Budget("day", tokens=100)
    assert limits.reserve(A, "call-1", Amounts(tokens=80), [budget]) is True
    clock.set(-HOUR)
    assert limits.reserve(B, "call-2", Amounts(tokens=80), [budget]) is False

    clock.set(-HOUR + KEEP_MS // 1000 + 1)

    assert limits.reserve(B, "call-2", Amounts(tokens=80), [budget]) is True


def test_a_pause_of_a_key_is_over_and_the_next_failure_makes_another(store: StoreHarness, clock: Clock) -> None:
    health, name = Cooldowns(store.redis, store.keys), "anthropic/main"
    health.failed(name, "call-1", FailureReason.RATE_LIMIT)
    clock.set(-HOUR)
    assert health.states([name])[0][name].until == 0
    assert CooldownList(store.redis, store.keys).all()[0] == []

    health.failed(name, "call-2", FailureReason.RATE_LIMIT)

    states, now = health.states([name])
    assert now < states[name].until < now + HOUR * 1000
    assert len(CooldownList(store.redis, store.keys).all()[0]) == 1


def test_a_wait_for_an_answer_begins_again_and_ends(store: StoreHarness, clock: Clock) -> None:
    (other,) = session_named("other")
    store.say("go")
    store.take()
    store.say("what?", id="asked", session=other, mode=QueueMode.FOLLOWUP)
    clock.set(-HOUR)
    waiting = store.exchanges.wait(other, MessageId("asked"), SESSION, 5_000)
    assert waiting.left_ms is not None
    assert waiting.left_ms <= 5_000

    clock.set(-HOUR + 6)

    assert not store.exchanges.wait(other, MessageId("asked"), SESSION, 5_000).left_ms


def test_a_process_that_died_before_the_step_is_not_alive(store: StoreHarness, clock: Clock) -> None:
    dead, alive = WorkerId("dead"), WorkerId("alive")
    for worker in (dead, alive):
        store.leases.tick(worker, {}, [])

    clock.set(-HOUR)
    store.leases.tick(alive, {}, [])

    assert (store.workers.is_alive(dead), store.workers.is_alive(alive)) == (False, True)
    assert {info.id: info.alive for info in store.workers.all()} == {
        alive: True
    }  # the other's last sign is too far off


def test_a_session_that_goes_on_after_the_step_can_be_taken(store: StoreHarness, clock: Clock) -> None:
    store.say("one", mode=QueueMode.FOLLOWUP)
    store.say("two", mode=QueueMode.FOLLOWUP)
    taken = store.take()
    clock.set(-HOUR)
    store.commit(taken)
    assert isinstance(store.try_take(), Taken)
