"""The sweep's judgement of one session: who is charged for a crash, and when a wake-up is repeated."""

from __future__ import annotations

import pytest

from openclaw_workers.errors import LeaseLost
from openclaw_workers.models.ids import WorkerId
from openclaw_workers.models.messages import MessageState
from openclaw_workers.models.runs import RunState
from openclaw_workers.store.fleet import Rescue
from openclaw_workers.store.turns import Outcome
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import LEASE_MS, REWAKE_MS, SESSION, Desk, child_key, session_named


def test_a_session_at_rest_leaves_the_due_index(desk: Desk) -> None:
    desk.redis.zadd(desk.keys.due, {f"turn|{SESSION}": 1})
    assert desk.rescue() == Rescue("gone")
    assert desk.due() is None
    desk.say("hi")
    desk.commit(desk.take())
    desk.redis.zadd(desk.keys.due, {f"turn|{SESSION}": 1})
    assert desk.rescue() == Rescue("gone")
    assert desk.due() is None


def test_a_live_lease_is_left_alone(desk: Desk) -> None:
    desk.say("hi")
    taken = desk.take()

    assert desk.rescue() == Rescue("wait")
    assert desk.due() == int(desk.ctl("lease_until"))
    desk.commit(taken)


def test_a_crash_without_progress_is_charged_and_woken(desk: Desk) -> None:
    desk.say("hi", run="run-a")
    desk.take("w1")

    assert desk.crash() == Rescue("wake")

    assert (desk.ctl("state"), desk.ctl("attempt"), desk.ctl("lease")) == ("queued", "2", "")
    assert desk.run("run-a").attempt == 2
    assert desk.reader.running() == []
    assert desk.bound() == ["hi"]
    assert "run.lost" in desk.events()


def test_a_crash_after_progress_is_charged_to_nobody(desk: Desk) -> None:
    desk.say("hi")
    for _ in range(5):
        taken = desk.take("w1")
        desk.turns("w1").step(taken.lease, taken.step + 1, [])
        assert desk.crash() == Rescue("wake")

    assert desk.ctl("attempt") == "1"


def test_a_run_that_loses_its_workers_although_it_moves_is_watched_and_given_up_in_the_end(desk: Desk) -> None:
    desk.say("hi")
    suspects, verbs = [], []
    for _ in range(10):
        taken = desk.take("w1")
        suspects.append(taken.suspect)
        desk.turns("w1").step(taken.lease, taken.step + 1, [])
        verbs.append(desk.crash().verb)

    assert suspects == [False, False, *[True] * 8]
    assert verbs == [*["wake"] * 9, "settle"], "three times the attempts of one that does not move"


def test_a_run_that_is_watched_for_its_losses_needs_the_place_for_suspects(desk: Desk) -> None:
    desk.say("hi")
    for _ in range(2):
        taken = desk.take("w1")
        desk.turns("w1").step(taken.lease, taken.step + 1, [])
        desk.crash()

    assert desk.refused("w2", may_suspect=False) == "suspect"
    assert desk.take("w2").attempt == 1


def test_progress_of_an_earlier_owner_does_not_count_for_the_next(desk: Desk) -> None:
    desk.say("hi")
    taken = desk.take("w1")
    desk.turns("w1").step(taken.lease, 1, [])
    desk.crash()
    desk.take("w2")
    desk.crash()

    assert desk.ctl("attempt") == "2"


def test_a_step_that_kills_its_worker_gets_three_owners_whatever_was_done_before_it(desk: Desk) -> None:
    desk.say("hi")
    taken = desk.take("w1")
    desk.turns("w1").step(taken.lease, 1, [])
    verbs = [desk.crash().verb]
    for _ in range(2):
        desk.take("w1")
        verbs.append(desk.crash().verb)

    assert verbs == ["wake", "wake", "settle"]


def test_a_step_gets_three_owners_of_its_own_when_the_one_before_it_was_handed_over(desk: Desk) -> None:
    desk.say("hi")
    verbs = []
    for _ in range(2):
        desk.take("w1")
        verbs.append(desk.crash().verb)
    moved = desk.take("w1")
    desk.turns("w1").step(moved.lease, moved.step + 1, [])
    desk.turns("w1").release(moved.lease)
    for _ in range(3):
        desk.take("w1")
        verbs.append(desk.crash().verb)

    assert verbs == ["wake"] * 4 + ["settle"]


def test_a_hand_over_without_progress_wins_a_step_no_more_owners(desk: Desk) -> None:
    desk.say("hi")
    verbs = []
    for _ in range(3):
        desk.turns("w1").release(desk.take("w1").lease)
        desk.take("w1")
        verbs.append(desk.crash().verb)

    assert verbs == ["wake", "wake", "settle"]


@pytest.mark.parametrize("goes_on", ["parked", "again"])
def test_a_turn_of_a_child_gets_three_owners_whatever_its_last_turn_lost(desk: Desk, goes_on: str) -> None:
    desk.say("hi")
    parent = desk.take("w0")
    desk.spawn(parent, "a")
    desk.commit(parent, worker="w0")
    child, verbs = child_key("a"), []
    for _ in range(2):
        desk.take("w1", session=child)
        verbs.append(desk.crash(child).verb)
    taken = desk.take("w1", session=child)
    if goes_on == "parked":
        desk.spawn(taken, "b", batch="batch-2")
    else:
        desk.say("one more thing", session=child)
    assert desk.commit(taken).how == goes_on
    if goes_on == "parked":
        desk.say("one more thing", session=child)
    for _ in range(3):
        desk.take("w1", session=child)
        verbs.append(desk.crash(child).verb)

    assert verbs == ["wake"] * 4 + ["settle"]


@pytest.mark.parametrize("suspect_is_judged", ["first", "last"])
def test_a_crash_is_charged_to_the_suspect_and_not_to_its_neighbours(desk: Desk, suspect_is_judged: str) -> None:
    poison, one, two = session_named("poison", "one", "two")
    desk.say("hi", session=poison)
    desk.take("w0", session=poison)
    desk.crash(poison)
    for session in (one, two):
        desk.say("hi", session=session)
    desk.take("w1", session=poison)
    for session in (one, two):
        desk.take("w1", session=session, may_suspect=False)

    order = [poison, one, two] if suspect_is_judged == "first" else [one, two, poison]
    for session in order:
        assert desk.crash(session) == Rescue("wake")

    assert [desk.ctl("attempt", session) for session in (poison, one, two)] == ["3", "1", "1"]


def test_a_process_that_was_only_paused_is_not_shielded_by_the_suspect_it_lost(desk: Desk) -> None:
    suspect, other = session_named("suspect", "other")
    desk.say("hi", session=suspect)
    desk.take("w0", session=suspect)
    desk.crash(suspect)
    desk.take("w1", session=suspect)
    desk.crash(suspect)
    desk.take("w2", session=suspect)
    desk.say("hi", session=other)

    desk.take("w1", session=other, may_suspect=True)
    desk.crash(other)

    assert desk.ctl("attempt", other) == "2"


def test_the_wake_ups_of_a_suspect_that_was_refused_do_not_count_as_lost(desk: Desk) -> None:
    desk.say("hi")
    desk.take("w1")
    desk.crash()
    for _ in range(12):
        assert desk.refused("w2", may_suspect=False) == "suspect"
        assert desk.rescue().verb == "wake"

    due = desk.due()
    assert due is not None
    assert due - desk.now() <= REWAKE_MS, "if the next one is lost, nobody waits longer than for the first"


def test_suspects_of_processes_long_dead_are_forgotten(desk: Desk) -> None:
    desk.fleet.tick(WorkerId("alive"), {}, [])
    desk.redis.hset(desk.keys.suspects, mapping={"alive": "run-a", "dead": "run-b"})
    desk.redis.zadd(desk.keys.runs, {"run-old": 1, "run-new": desk.now()})

    desk.fleet.prune()

    assert desk.redis.hgetall(desk.keys.suspects) == {"alive": "run-a"}
    assert desk.redis.zrange(desk.keys.runs, 0, -1) == ["run-new"]


def test_a_suspect_of_one_process_shields_nobody_in_another(desk: Desk) -> None:
    suspect, other = session_named("suspect", "other")
    desk.say("hi", session=suspect)
    desk.take("w0", session=suspect)
    desk.crash(suspect)
    desk.take("w1", session=suspect)
    desk.say("hi", session=other)
    desk.take("w2", session=other)

    desk.crash(other)

    assert desk.ctl("attempt", other) == "2"


def test_after_the_last_attempt_the_sweeper_holds_the_lease_to_settle_it(desk: Desk) -> None:
    desk.say("poison", run="run-a")
    for worker in ("w1", "w2", "w3"):
        last = desk.take(worker)
        rescue = desk.crash()

    assert rescue.verb == "settle"
    assert rescue.lease is not None
    assert desk.ctl("lease") == rescue.lease.token != last.lease.token
    with pytest.raises(LeaseLost):
        desk.commit(last, "the third worker was only asleep", worker="w3")
    desk.say("next")
    given_up = Outcome(RunState.ERROR, "lost", MessageState.FAILED, error="given up")
    failed = desk.turns("sweeper").commit(rescue.lease, "main", given_up)
    assert failed.next_run is not None
    assert desk.states("poison") == ["failed"]
    assert desk.run("run-a").state == RunState.ERROR
    assert desk.take().attempt == 1, "the session goes on with the next message"


def test_a_sweeper_that_dies_while_settling_is_followed_by_another(desk: Desk) -> None:
    desk.say("poison")
    for worker in ("w1", "w2", "w3"):
        desk.take(worker)
        first = desk.crash()
    assert desk.rescue().verb == "wait", "the first sweeper has a lease of time to settle it"

    second = desk.crash()

    assert (first.verb, second.verb) == ("settle", "settle")
    assert first.lease != second.lease


def test_a_lost_wake_is_repeated_with_growing_distance_up_to_a_minute(desk: Desk) -> None:
    desk.say("hi")
    distances = []
    for _ in range(6):
        assert desk.rescue() == Rescue("wake")
        due = desk.due()
        assert due is not None
        distances.append(round((due - desk.now()) / 1000))

    assert distances == [8, 16, 32, 60, 60, 60]
    assert desk.ctl("attempt") == "1", "a wake-up is never charged"
    assert desk.take().attempt == 1


def test_no_wake_is_added_while_the_queue_still_holds_older_ones(desk: Desk) -> None:
    desk.say("hi")
    woken_at = int(desk.ctl("woken_at"))

    assert desk.rescue(oldest_wake_ms=woken_at - 1000) == Rescue("wait")
    due = desk.due()
    assert due is not None
    assert due - desk.now() > REWAKE_MS
    assert desk.rescue(oldest_wake_ms=woken_at + 60_000) == Rescue("wake"), "ours is no longer in the queue"


def test_a_debounced_run_is_woken_when_its_time_has_come_whatever_the_queue_holds(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two", debounce_ms=10_000)
    desk.commit(taken)

    assert desk.rescue() == Rescue("wait")
    assert desk.due() == int(desk.ctl("ready_at"))
    desk.redis.hset(desk.keys.ctl(SESSION), "ready_at", str(desk.now() - 1))
    assert desk.rescue(oldest_wake_ms=1) == Rescue("wake"), "it was never published, so it is not in the queue"


def test_a_lease_beyond_one_lease_from_now_is_cut_back(desk: Desk) -> None:
    desk.say("hi")
    desk.take("w1")
    desk.redis.hset(desk.keys.ctl(SESSION), "lease_until", str(desk.now() + 1_000_000))

    assert desk.rescue() == Rescue("wait")
    assert int(desk.ctl("lease_until")) - desk.now() <= LEASE_MS


def test_a_rescue_of_a_run_that_is_over_looks_at_the_one_that_is(desk: Desk) -> None:
    desk.say("one", run="run-a")
    taken = desk.take()
    desk.say("two")
    desk.commit(taken, next_run="run-b")

    run, _ = desk.fleet.rescue(SESSION, taken.lease.lane, WorkerId("s"), oldest_wake_ms=0, cap=0, max_attempts=3)
    assert run == "run-b"


def test_a_crashed_holder_gets_its_slot_back_before_those_behind_it(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second = session_named("a", "b")
    desk.say("hi", session=first)
    desk.say("hi", session=second)
    desk.take("w1", session=first)
    assert desk.refused(session=second) == "lane"

    rescue = desk.crash(first)

    assert rescue.verb == "wait"
    assert [session for _, session in rescue.granted] == [first]
    assert desk.refused(session=second) == "lane"
    desk.commit(desk.take("w2", session=first), worker="w2")
    desk.take(session=second)


def test_a_grant_that_nobody_used_goes_round_again(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second = session_named("a", "b")
    desk.say("hi", session=first)
    desk.say("hi", session=second)
    taken = desk.take(session=first)
    assert desk.refused(session=second) == "lane"
    desk.commit(taken)
    assert desk.rescue(second) == Rescue("wait"), "its time is not over"
    desk.expire(second)
    desk.redis.hdel(desk.keys.ctl(second), "lease_until")

    rescue = desk.rescue(second)

    assert [session for _, session in rescue.granted] == [second]
    desk.take(session=second)


def test_a_session_that_never_asked_for_a_slot_is_simply_woken(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    desk.say("hi")
    assert desk.rescue() == Rescue("wake")
