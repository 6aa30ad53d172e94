"""The sweep's judgement of one session: who is charged for a crash, and when a wake-up is repeated."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.leases import Recovery
from openclaw_workers.store.turn_records import Outcome
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import LEASE_MS, REWAKE_MS, SESSION, StoreHarness, child_key, session_named


def test_a_session_at_rest_leaves_the_due_index(store: StoreHarness) -> None:
    store.redis.zadd(store.keys.due, {f"turn|{SESSION}": 1})
    assert store.recover() == Recovery("gone")
    assert store.due_at() is None
    store.say("hi")
    store.commit(store.take())
    store.redis.zadd(store.keys.due, {f"turn|{SESSION}": 1})
    assert store.recover() == Recovery("gone")
    assert store.due_at() is None


def test_a_live_lease_is_left_alone(store: StoreHarness) -> None:
    store.say("hi")
    taken = store.take()

    assert store.recover() == Recovery("wait")
    assert store.due_at() == int(store.ctl("lease_until"))
    store.commit(taken)


def test_a_crash_without_progress_is_charged_and_woken(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    store.take("w1")

    assert store.crash() == Recovery("wake")

    assert (store.ctl("state"), store.ctl("attempt"), store.ctl("lease")) == ("queued", "2", "")
    assert store.run("run-a").attempt == 2
    assert store.reader.running() == []
    assert store.bound() == ["hi"]
    assert "run.lost" in store.events()


def test_a_crash_after_progress_is_charged_to_nobody(store: StoreHarness) -> None:
    store.say("hi")
    for _ in range(5):
        taken = store.take("w1")
        store.turns("w1").step(taken.lease, taken.step + 1, [])
        assert store.crash() == Recovery("wake")

    assert store.ctl("attempt") == "1"


def test_a_run_that_loses_its_workers_although_it_moves_is_watched_and_given_up_in_the_end(store: StoreHarness) -> None:
    store.say("hi")
    suspects, verbs = [], []
    for _ in range(10):
        taken = store.take("w1")
        suspects.append(taken.suspect)
        store.turns("w1").step(taken.lease, taken.step + 1, [])
        verbs.append(store.crash().verb)

    assert suspects == [False, False, *[True] * 8]
    assert verbs == [*["wake"] * 9, "settle"], "three times the attempts of one that does not move"


def test_a_run_that_is_watched_for_its_losses_needs_the_place_for_suspects(store: StoreHarness) -> None:
    store.say("hi")
    for _ in range(2):
        taken = store.take("w1")
        store.turns("w1").step(taken.lease, taken.step + 1, [])
        store.crash()

    assert store.refused("w2", may_suspect=False) == "suspect"
    assert store.take("w2").attempt == 1


def test_progress_of_an_earlier_owner_does_not_count_for_the_next(store: StoreHarness) -> None:
    store.say("hi")
    taken = store.take("w1")
    store.turns("w1").step(taken.lease, 1, [])
    store.crash()
    store.take("w2")
    store.crash()

    assert store.ctl("attempt") == "2"


def test_a_step_that_kills_its_worker_gets_three_owners_whatever_was_done_before_it(store: StoreHarness) -> None:
    store.say("hi")
    taken = store.take("w1")
    store.turns("w1").step(taken.lease, 1, [])
    verbs = [store.crash().verb]
    for _ in range(2):
        store.take("w1")
        verbs.append(store.crash().verb)

    assert verbs == ["wake", "wake", "settle"]


def test_a_step_gets_three_owners_of_its_own_when_the_one_before_it_was_handed_over(store: StoreHarness) -> None:
    store.say("hi")
    verbs = []
    for _ in range(2):
        store.take("w1")
        verbs.append(store.crash().verb)
    moved = store.take("w1")
    store.turns("w1").step(moved.lease, moved.step + 1, [])
    store.turns("w1").release(moved.lease)
    for _ in range(3):
        store.take("w1")
        verbs.append(store.crash().verb)

    assert verbs == ["wake"] * 4 + ["settle"]


def test_a_hand_over_without_progress_wins_a_step_no_more_owners(store: StoreHarness) -> None:
    store.say("hi")
    verbs = []
    for _ in range(3):
        store.turns("w1").release(store.take("w1").lease)
        store.take("w1")
        verbs.append(store.crash().verb)

    assert verbs == ["wake", "wake", "settle"]


@pytest.mark.parametrize("goes_on", ["parked", "again"])
def test_a_turn_of_a_child_gets_three_owners_whatever_its_last_turn_lost(store: StoreHarness, goes_on: str) -> None:
    store.say("hi")
    parent = store.take("w0")
    store.spawn(parent, "a")
    store.commit(parent, worker="w0")
    child, verbs = child_key("a"), []
    for _ in range(2):
        store.take("w1", session=child)
        verbs.append(store.crash(child).verb)
    taken = store.take("w1", session=child)
    if goes_on == "parked":
        store.spawn(taken, "b", batch="batch-2")
    else:
        store.say("one more thing", session=child)
    assert store.commit(taken).how == goes_on
    if goes_on == "parked":
        store.say("one more thing", session=child)
    for _ in range(3):
        store.take("w1", session=child)
        verbs.append(store.crash(child).verb)

    assert verbs == ["wake"] * 4 + ["settle"]


@pytest.mark.parametrize("suspect_is_judged", ["first", "last"])
def test_a_crash_is_charged_to_the_suspect_and_not_to_its_neighbours(
    store: StoreHarness, suspect_is_judged: str
) -> None:
    poison, one, two = session_named("poison", "one", "two")
    store.say("hi", session=poison)
    store.take("w0", session=poison)
    store.crash(poison)
    for session in (one, two):
        store.say("hi", session=session)
    store.take("w1", session=poison)
    for session in (one, two):
        store.take("w1", session=session, may_suspect=False)

    order = [poison, one, two] if suspect_is_judged == "first" else [one, two, poison]
    for session in order:
        assert store.crash(session) == Recovery("wake")

    assert [store.ctl("attempt", session) for session in (poison, one, two)] == ["3", "1", "1"]


def test_a_process_that_was_only_paused_is_not_shielded_by_the_suspect_it_lost(store: StoreHarness) -> None:
    suspect, other = session_named("suspect", "other")
    store.say("hi", session=suspect)
    store.take("w0", session=suspect)
    store.crash(suspect)
    store.take("w1", session=suspect)
    store.crash(suspect)
    store.take("w2", session=suspect)
    store.say("hi", session=other)

    store.take("w1", session=other, may_suspect=True)
    store.crash(other)

    assert store.ctl("attempt", other) == "2"


def test_the_wake_ups_of_a_suspect_that_was_refused_do_not_count_as_lost(store: StoreHarness) -> None:
    store.say("hi")
    store.take("w1")
    store.crash()
    for _ in range(12):
        assert store.refused("w2", may_suspect=False) == "suspect"
        assert store.recover().verb == "wake"

    due = store.due_at()
    assert due is not None
    assert due - store.now() <= REWAKE_MS, "if the next one is lost, nobody waits longer than for the first"


def test_suspects_of_processes_long_dead_are_forgotten(store: StoreHarness) -> None:
    store.leases.tick(WorkerId("alive"), {}, [])
    store.redis.hset(store.keys.suspects, mapping={"alive": "run-a", "dead": "run-b"})
    store.redis.zadd(store.keys.runs, {"run-old": 1, "run-new": store.now()})

    store.workers.prune()

    assert store.redis.hgetall(store.keys.suspects) == {"alive": "run-a"}
    assert store.redis.zrange(store.keys.runs, 0, -1) == ["run-new"]


def test_a_suspect_of_one_process_shields_nobody_in_another(store: StoreHarness) -> None:
    suspect, other = session_named("suspect", "other")
    store.say("hi", session=suspect)
    store.take("w0", session=suspect)
    store.crash(suspect)
    store.take("w1", session=suspect)
    store.say("hi", session=other)
    store.take("w2", session=other)

    store.crash(other)

    assert store.ctl("attempt", other) == "2"


def test_after_the_last_attempt_the_sweeper_holds_the_lease_to_settle_it(store: StoreHarness) -> None:
    store.say("poison", run="run-a")
    for worker in ("w1", "w2", "w3"):
        last = store.take(worker)
        recover = store.crash()

    assert recover.verb == "settle"
    assert recover.lease is not None
    assert store.ctl("lease") == recover.lease.token != last.lease.token
    with pytest.raises(LeaseLost):
        store.commit(last, "the third worker was only asleep", worker="w3")
    store.say("next")
    given_up = Outcome(RunState.ERROR, "lost", MessageState.FAILED, error="given up")
    failed = store.turns("sweeper").commit(recover.lease, "main", given_up)
    assert failed.next_run is not None
    assert store.states("poison") == ["failed"]
    assert store.run("run-a").state == RunState.ERROR
    assert store.take().attempt == 1, "the session goes on with the next message"


def test_a_sweeper_that_dies_while_settling_is_followed_by_another(store: StoreHarness) -> None:
    store.say("poison")
    for worker in ("w1", "w2", "w3"):
        store.take(worker)
        first = store.crash()
    assert store.recover().verb == "wait", "the first sweeper has a lease of time to settle it"

    second = store.crash()

    assert (first.verb, second.verb) == ("settle", "settle")
    assert first.lease != second.lease


def test_a_lost_wake_is_repeated_with_growing_distance_up_to_a_minute(store: StoreHarness) -> None:
    store.say("hi")
    distances = []
    for _ in range(6):
        assert store.recover() == Recovery("wake")
        due = store.due_at()
        assert due is not None
        distances.append(round((due - store.now()) / 1000))

    assert distances == [8, 16, 32, 60, 60, 60]
    assert store.ctl("attempt") == "1", "a wake-up is never charged"
    assert store.take().attempt == 1


def test_no_wake_is_added_while_the_queue_still_holds_older_ones(store: StoreHarness) -> None:
    store.say("hi")
    woken_at = int(store.ctl("woken_at"))

    assert store.recover(oldest_wake_ms=woken_at - 1000) == Recovery("wait")
    due = store.due_at()
    assert due is not None
    assert due - store.now() > REWAKE_MS
    assert store.recover(oldest_wake_ms=woken_at + 60_000) == Recovery("wake"), "ours is no longer in the queue"


def test_a_debounced_run_is_woken_when_its_time_has_come_whatever_the_queue_holds(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two", debounce_ms=10_000)
    store.commit(taken)

    assert store.recover() == Recovery("wait")
    assert store.due_at() == int(store.ctl("ready_at"))
    store.redis.hset(store.keys.ctl(SESSION), "ready_at", str(store.now() - 1))
    assert store.recover(oldest_wake_ms=1) == Recovery("wake"), "it was never published, so it is not in the queue"


def test_a_lease_beyond_one_lease_from_now_is_cut_back(store: StoreHarness) -> None:
    store.say("hi")
    store.take("w1")
    store.redis.hset(store.keys.ctl(SESSION), "lease_until", str(store.now() + 1_000_000))

    assert store.recover() == Recovery("wait")
    assert int(store.ctl("lease_until")) - store.now() <= LEASE_MS


def test_a_recover_of_a_run_that_is_over_looks_at_the_one_that_is(store: StoreHarness) -> None:
    store.say("one", run="run-a")
    taken = store.take()
    store.say("two")
    store.commit(taken, next_run="run-b")

    run, _ = store.leases.recover(SESSION, taken.lease.lane, WorkerId("s"), oldest_wake_ms=0, cap=0, max_attempts=3)
    assert run == "run-b"


def test_a_crashed_holder_gets_its_slot_back_before_those_behind_it(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second = session_named("a", "b")
    store.say("hi", session=first)
    store.say("hi", session=second)
    store.take("w1", session=first)
    assert store.refused(session=second) == "lane"

    recover = store.crash(first)

    assert recover.verb == "wait"
    assert [session for _, session in recover.granted] == [first]
    assert store.refused(session=second) == "lane"
    store.commit(store.take("w2", session=first), worker="w2")
    store.take(session=second)


def test_a_grant_that_nobody_used_goes_round_again(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second = session_named("a", "b")
    store.say("hi", session=first)
    store.say("hi", session=second)
    taken = store.take(session=first)
    assert store.refused(session=second) == "lane"
    store.commit(taken)
    assert store.recover(second) == Recovery("wait"), "its time is not over"
    store.expire(second)
    store.redis.hdel(store.keys.ctl(second), "lease_until")

    recover = store.recover(second)

    assert [session for _, session in recover.granted] == [second]
    store.take(session=second)


def test_a_session_that_never_asked_for_a_slot_is_simply_woken(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    store.say("hi")
    assert store.recover() == Recovery("wake")
