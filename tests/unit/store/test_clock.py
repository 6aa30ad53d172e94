"""Redis' clock steps back: what counts from now is shifted once, calendar times stay, and nobody waits for the step."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.errors import FailureReason
from openclaw_workers.models.ids import MessageId, RunId, WorkerId
from openclaw_workers.models.messages import QueueMode
from openclaw_workers.models.runs import Lane
from openclaw_workers.store import connection
from openclaw_workers.store.health import Health
from openclaw_workers.store.limits import KEEP_MS, SILENT_MS, Amounts, Budget, Limit, Limits
from openclaw_workers.store.pauses import Pauses
from openclaw_workers.store.turns import Taken
from tests.support.clock import Clock, shift_times, shifted_source
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import LEASE_MS, SESSION, Desk, session_named

HOUR = 3600
A, B, C = (RunId(f"run-{name}") for name in "abc")


@pytest.fixture
def clock(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    monkeypatch.setattr(connection, "script_source", shifted_source(connection.script_source))
    shift_times(desk.redis, tmp_path / "clock")
    return Clock(desk.redis, tmp_path / "clock")


def sweep_after_grace(desk: Desk, clock: Clock, seconds: int) -> list[str]:
    """What a sweep finds that comes one lease after the step to `seconds` was noticed."""
    for passed in range(0, LEASE_MS // 1000, 2):
        clock.set(seconds + passed)
        assert desk.fleet.due()[1] == [], "nobody is judged right after a step"
    clock.set(seconds + LEASE_MS // 1000 + 1)
    return desk.fleet.due()[1]


def test_what_counts_from_now_is_shifted_once_and_calendar_times_stay(desk: Desk, clock: Clock) -> None:
    desk.fleet.due()
    before = desk.now()
    times = {"turn|a": 1_000, "batch|b": 2_000, "archive|c": 3_000, "job|noon": 4_000}
    desk.redis.zadd(desk.keys.due, {item: before + ms for item, ms in times.items()})

    clock.set(-HOUR)
    desk.fleet.due()
    now = desk.now()
    desk.fleet.due()

    ahead = {item: (desk.due(item) or 0) - now for item in times}
    assert all(abs(ahead[item] - times[item]) < 500 for item in ("turn|a", "batch|b", "archive|c")), ahead
    assert desk.due("job|noon") == before + 4_000


def test_a_step_back_is_shifted_in_bounded_portions_and_one_after_the_other(desk: Desk, clock: Clock) -> None:
    desk.fleet.due()
    before = desk.now()
    desk.redis.zadd(desk.keys.due, {f"turn|{number}": before + 100_000 + number for number in range(1_200)})
    clock.set(-HOUR)

    assert desk.fleet.due() == (0, [])
    left = desk.redis.zcard(desk.keys.due_before_step)
    assert 0 < left < 1_200
    desk.redis.zadd(desk.keys.due, {"turn|0": desk.now() + 7_000})
    clock.set(-2 * HOUR)  # once more, in the middle of it
    for _ in range(10):
        desk.fleet.due()

    assert desk.redis.zcard(desk.keys.due_before_step) == 0
    assert desk.redis.zcard(desk.keys.due) == 1_200
    now = desk.now()
    assert desk.redis.zcount(desk.keys.due, now, now + 110_000) == 1_200
    assert abs((desk.due("turn|0") or 0) - now - 7_000) < 500, "what was put in since is not shifted by the first step"


def test_a_dead_owner_is_found_a_lease_after_the_step(desk: Desk, clock: Clock) -> None:
    desk.say("hi")
    desk.take("w1")
    desk.fleet.due()

    clock.set(-HOUR)

    assert sweep_after_grace(desk, clock, -HOUR) == [f"turn|{SESSION}"]
    assert desk.rescue().verb == "wake"


def test_a_live_owner_keeps_its_run(desk: Desk, clock: Clock) -> None:
    desk.say("hi")
    taken = desk.take("w1")
    desk.fleet.due()

    clock.set(-HOUR)
    assert desk.rescue().verb == "wait", "also where no sweep has noticed the step yet"
    for passed in range(0, 3 * LEASE_MS // 1000, 2):
        clock.set(-HOUR + passed)
        desk.fleet.due()
        assert desk.rescue().verb == "wait"
        desk.fleet.tick(WorkerId("w1"), {}, [taken.lease])

    assert desk.ctl("lease") == taken.lease.token


def test_a_debounce_does_not_last_as_much_longer(desk: Desk, clock: Clock) -> None:
    desk.fleet.due()
    desk.say("one")
    taken = desk.take()
    desk.say("two", debounce_ms=2_000)
    desk.commit(taken)
    assert desk.refused() == "early"

    clock.set(-HOUR)

    assert sweep_after_grace(desk, clock, -HOUR) == [f"turn|{SESSION}"]
    assert desk.rescue().verb == "wake"
    desk.take()


def test_a_message_from_before_the_step_debounces_from_now(desk: Desk, clock: Clock) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two", debounce_ms=2_000)

    clock.set(-HOUR)

    assert desk.commit(taken).delay_ms <= 2_000


def test_a_granted_slot_that_nobody_uses_is_granted_again(make_desk: MakeDesk, clock: Clock) -> None:
    desk = make_desk(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        desk.say("hi", session=session)
    taken = desk.take(session=first)
    for session in (second, third):
        assert desk.refused(session=session) == "lane"
    desk.commit(taken)
    desk.fleet.due()

    clock.set(-HOUR)

    sweep_after_grace(desk, clock, -HOUR)
    assert [session for _, session in desk.rescue(second).granted] == [second], "it kept its ticket"
    slot = desk.redis.zscore(desk.keys.slots(Lane.MAIN), second)
    assert slot is not None
    assert slot < desk.now() + LEASE_MS


def test_a_lost_wake_up_is_not_taken_for_one_that_still_waits_in_the_queue(desk: Desk, clock: Clock) -> None:
    desk.say("hi")
    clock.set(-HOUR)
    assert desk.rescue(oldest_wake_ms=desk.now()).verb == "wait"

    clock.set(-HOUR + 60)

    assert desk.rescue(oldest_wake_ms=desk.now()).verb == "wake", "those in the queue are newer"


def test_entries_of_a_rate_limit_that_lie_ahead_hold_nobody_up(desk: Desk, clock: Clock) -> None:
    limits, limit = Limits(desk.redis, desk.keys), Limit("p", requests_per_minute=1)
    assert limits.ask([limit], A, "call-1", 10) == 0
    assert limits.ask([limit], B, "call-2", 10) > 0

    clock.set(-HOUR)

    assert limits.ask([limit], B, "call-2", 10) == 0
    assert limits.ask([limit], C, "call-3", 10) > 0, "the limit holds for what came since"


def test_the_place_of_a_dead_caller_ends_and_so_does_a_silent_waiter(desk: Desk, clock: Clock) -> None:
    limits, limit = Limits(desk.redis, desk.keys), Limit("p", concurrent=1)
    assert limits.ask([limit], A, "call-1", 10) == 0
    for run in (B, C):
        assert limits.ask([limit], run, f"call-{run}", 10) > 0
    clock.set(-HOUR)
    assert limits.ask([limit], C, f"call-{C}", 10) > 0, "the caller may be alive"

    clock.set(-HOUR + max(KEEP_MS, SILENT_MS) // 1000 + 1)

    assert limits.ask([limit], C, f"call-{C}", 10) == 0


def test_what_a_dead_caller_set_aside_ends(desk: Desk, clock: Clock) -> None:
    limits, budget = Limits(desk.redis, desk.keys), Budget("day", tokens=100)
    assert limits.reserve(A, "call-1", Amounts(tokens=80), [budget]) is True
    clock.set(-HOUR)
    assert limits.reserve(B, "call-2", Amounts(tokens=80), [budget]) is False

    clock.set(-HOUR + KEEP_MS // 1000 + 1)

    assert limits.reserve(B, "call-2", Amounts(tokens=80), [budget]) is True


def test_a_pause_of_a_key_is_over_and_the_next_failure_makes_another(desk: Desk, clock: Clock) -> None:
    health, name = Health(desk.redis, desk.keys), "anthropic/main"
    health.failed(name, "call-1", FailureReason.RATE_LIMIT)
    clock.set(-HOUR)
    assert health.states([name])[0][name].until == 0
    assert Pauses(desk.redis, desk.keys).all()[0] == []

    health.failed(name, "call-2", FailureReason.RATE_LIMIT)

    states, now = health.states([name])
    assert now < states[name].until < now + HOUR * 1000
    assert len(Pauses(desk.redis, desk.keys).all()[0]) == 1


def test_a_wait_for_an_answer_begins_again_and_ends(desk: Desk, clock: Clock) -> None:
    (other,) = session_named("other")
    desk.say("go")
    desk.take()
    desk.say("what?", id="asked", session=other, mode=QueueMode.FOLLOWUP)
    clock.set(-HOUR)
    waiting = desk.exchanges.wait(other, MessageId("asked"), SESSION, 5_000)
    assert waiting.left_ms is not None
    assert waiting.left_ms <= 5_000

    clock.set(-HOUR + 6)

    assert not desk.exchanges.wait(other, MessageId("asked"), SESSION, 5_000).left_ms


def test_a_process_that_died_before_the_step_is_not_alive(desk: Desk, clock: Clock) -> None:
    dead, alive = WorkerId("dead"), WorkerId("alive")
    for worker in (dead, alive):
        desk.fleet.tick(worker, {}, [])

    clock.set(-HOUR)
    desk.fleet.tick(alive, {}, [])

    assert (desk.fleet.is_alive(dead), desk.fleet.is_alive(alive)) == (False, True)
    assert {info.id: info.alive for info in desk.fleet.workers()} == {dead: False, alive: True}


def test_a_session_that_goes_on_after_the_step_can_be_taken(desk: Desk, clock: Clock) -> None:
    desk.say("one", mode=QueueMode.FOLLOWUP)
    desk.say("two", mode=QueueMode.FOLLOWUP)
    taken = desk.take()
    clock.set(-HOUR)
    desk.commit(taken)
    assert isinstance(desk.try_take(), Taken)
