"""Taking: one owner, the right messages bound in order, stale sessions reset, lanes kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.messages import Authority, QueueMode, Route
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.turn_records import NotTaken, Taken
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import LEASE_MS, REWAKE_MS, SESSION, StoreHarness, session_named, texts

HOUR_MS = 3_600_000


def test_the_owner_gets_all_it_needs(store: StoreHarness) -> None:
    store.say("hi", sender="Ann", run="run-a")

    taken = store.take("w1", nonce="n1")

    assert (taken.lease.token, taken.lease.run, taken.step, taken.attempt) == ("1:n1", "run-a", 0, 1)
    assert (taken.resumed, taken.started_call, taken.abort, taken.log_length) == (False, "", "", 1)
    assert [json.loads(raw)["id"] for raw in taken.bound] == ["hi"]
    assert [json.loads(raw)["role"] for raw in taken.tail] == ["user"]
    assert taken.row["sessionKey"] == SESSION
    assert taken.deadline_at - taken.now == 600_000
    assert store.states("hi") == ["bound"]
    run = store.run("run-a")
    assert (run.state, run.covers, run.session_id) == ("running", ["hi"], store.row()["sessionId"])
    assert [attempt.worker for attempt in run.attempts] == ["w1"]
    assert store.reader.running() == [SESSION]
    assert store.events() == ["message.accepted", "run.started"]


def test_a_session_without_work_is_not_taken(store: StoreHarness) -> None:
    assert store.refused(run="run-x") == "gone"
    store.say("hi", run="run-a")
    assert store.refused(run="run-x") == "stale"
    taken = store.take("w1")
    assert store.refused("w2") == "held"
    store.commit(taken)
    assert store.refused(run="run-a") == "idle"


def test_the_same_nonce_gets_the_same_answer_and_another_one_does_not(store: StoreHarness) -> None:
    store.say("hi")
    first = store.take("w1", nonce="n1")

    again = store.take("w1", nonce="n1")

    assert (again.lease, again.step, again.bound, again.tail) == (first.lease, first.step, first.bound, first.tail)
    assert store.ctl("fence") == "1"
    assert len(store.log()) == 1
    assert store.refused("w1", nonce="n2") == "held"


def test_a_nonce_of_an_earlier_lease_opens_nothing(store: StoreHarness) -> None:
    store.say("hi")
    store.take("w1", nonce="n1")
    store.crash()
    store.take("w2", nonce="n2")

    assert store.refused("w1", nonce="n1") == "held"


def test_a_debounced_run_is_not_taken_early(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two", debounce_ms=60_000)
    store.commit(taken)

    assert store.refused() == "early"


def test_collect_merges_everything_that_waited(store: StoreHarness) -> None:
    store.say("one", sender="Ann")
    store.say("two", sender="Ann")
    store.say("three")

    store.take()

    (entry,) = store.users()
    assert entry.message_ids == ["one", "two", "three"]
    assert texts(entry) == ["Queued #1 (from Ann)\none", "Queued #2 (from Ann)\ntwo", "Queued #3\nthree"]
    assert store.waiting() == []


@pytest.mark.parametrize(
    "different",
    [
        {"mode": QueueMode.FOLLOWUP},
        {"mode": QueueMode.STEER},
        {"authority": Authority.ANYONE},
        {"route": Route(channel="telegram")},
        {"route": Route(channel="cli", to="room")},
        {"route": Route(channel="cli", account_id="second")},
        {"route": Route(channel="cli", thread_id="7")},
        {"model": "offline/script"},
        {"kind": "internal"},
        {"kind": "command"},
    ],
    ids=str,
)
def test_collect_merges_only_a_prefix_of_the_same_route_and_authority(
    store: StoreHarness, different: dict[str, object]
) -> None:
    store.say("one")
    store.say("two")
    store.say("other", **different)  # type: ignore[arg-type]
    store.say("last")

    taken = store.take()
    assert store.bound() == ["one", "two"]
    store.commit(taken)
    taken = store.take()
    assert store.bound() == ["other"]
    store.commit(taken)
    store.take()
    assert store.bound() == ["last"]


def test_a_command_is_taken_alone_and_writes_no_entry(store: StoreHarness) -> None:
    store.say("/new", kind="command")
    store.say("after")

    store.take()

    assert store.bound() == ["/new"]
    assert store.log() == []


# On a real Redis only: the in-memory one has no redis.sha1hex, which names the damaged message.
@pytest.mark.parametrize("redis", ["real"], indirect=True)
def test_a_message_that_cannot_be_read_is_taken_alone_and_settled_like_any_other(store: StoreHarness) -> None:
    store.say("one")
    store.redis.zadd(store.keys.inbox(SESSION), {"{damaged": 1.5})
    store.say("three")

    bound = []
    while store.ctl("state") != "idle":
        taken = store.take()
        bound.append(taken.bound)
        store.commit(taken)

    assert [len(messages) for messages in bound] == [1, 1, 1]
    assert bound[1] == ["{damaged"]
    assert [texts(entry) for entry in store.users()] == [["one"], ["three"]]


@pytest.mark.parametrize("how", ["daily", "idle"])
def test_a_stale_session_is_reset_and_leaves_its_transcript_for_the_archive(store: StoreHarness, how: str) -> None:
    store.say("long ago")
    store.commit(store.take())
    old = store.row()["sessionId"]
    store.redis.hset(store.keys.row(SESSION), "lastInteractionAt", str(store.now() - HOUR_MS))
    store.say("today")

    limits: dict[str, Any] = (
        {"daily_boundary_ms": store.now() - 1000} if how == "daily" else {"idle_ms": HOUR_MS - 1000}
    )
    taken = store.take(**limits)

    assert [texts(entry) for entry in store.users()] == [["today"]]
    assert taken.log_length == 1
    assert taken.row["sessionId"] == store.row()["sessionId"] != old
    assert store.row()["turns"] == "0"
    (archive_id,) = map(str, store.redis.hkeys(store.keys.archives))
    archive, entries = store.archive()
    assert (archive.session_id, archive.session_key, len(entries)) == (old, SESSION, 1)
    assert store.due_at(f"archive|{archive_id}") is not None
    assert "session.reset" in store.events()
    # A second look must not find the new session stale again.
    store.commit(taken)
    store.say("later")
    assert store.take(**limits).log_length == 2


def test_a_fresh_session_and_one_without_limits_go_on(store: StoreHarness) -> None:
    store.say("one")
    store.commit(store.take())
    store.say("two")
    store.commit(store.take(daily_boundary_ms=store.now() - HOUR_MS, idle_ms=HOUR_MS))
    store.redis.hset(store.keys.row(SESSION), "lastInteractionAt", "1")
    store.say("three")
    store.take()

    assert [texts(entry) for entry in store.users()] == [["one"], ["two"], ["three"]]


@pytest.mark.parametrize(("days_ago", "kept"), [(0, True), (2, False)], ids=["just now", "days ago"])
def test_a_worker_whose_clock_is_ahead_resets_nothing_before_its_time(
    store: StoreHarness, days_ago: int, kept: bool
) -> None:
    store.say("one")
    store.commit(store.take())
    store.redis.hset(store.keys.row(SESSION), "lastInteractionAt", str(store.now() - days_ago * 24 * HOUR_MS))
    store.say("two")

    store.take(daily_boundary_ms=store.now() + HOUR_MS)

    assert [texts(entry) for entry in store.users()] == ([["one"], ["two"]] if kept else [["two"]])


def test_a_resumed_run_is_never_reset_and_binds_nothing_new(store: StoreHarness) -> None:
    store.say("one")
    store.take("w1")
    store.say("two")
    store.crash()
    store.redis.hset(store.keys.row(SESSION), "lastInteractionAt", "1")

    taken = store.take("w2", daily_boundary_ms=store.now())

    assert taken.resumed
    assert taken.log_length == 1
    assert (store.bound(), store.waiting()) == (["one"], ["two"])
    assert [attempt.how for attempt in store.run(taken.lease.run).attempts] == ["taken", "takeover"]


@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.STEER_BACKLOG])
@pytest.mark.parametrize("lost_by", ["crash", "release"])
def test_the_next_owner_learns_of_steering_that_the_last_one_did_not_see(
    store: StoreHarness, mode: QueueMode, lost_by: str
) -> None:
    store.say("one", mode=mode)
    first = store.take("w1", nonce="a")
    store.say("two", mode=mode)
    assert not store.take("w1", nonce="a").steering_waits, "a step of its own will bring it"
    if lost_by == "crash":
        store.crash()
    else:
        store.turns("w1").release(first.lease)

    second = store.take("w2", nonce="b")
    assert second.steering_waits
    assert store.take("w2", nonce="b").steering_waits, "a repeat gets the same answer"
    store.turns("w2").step(second.lease, 1, [], may_steer=True)
    store.crash()

    assert not store.take("w3").steering_waits


def test_steering_is_not_looked_for_where_none_waits(store: StoreHarness) -> None:
    store.say("one", mode=QueueMode.STEER)
    taken = store.take()
    assert not taken.steering_waits
    store.crash()
    assert not store.take().steering_waits, "the message it carries was one to steer; no other is there"
    store.say("two", mode=QueueMode.FOLLOWUP)
    store.say("three", mode=QueueMode.STEER)
    store.crash()
    assert store.take().steering_waits


def test_the_fence_only_grows(store: StoreHarness) -> None:
    store.say("one")
    fences = []
    for worker in ("w1", "w2", "w3"):
        fences.append(int(store.take(worker).lease.token.split(":")[0]))
        store.crash()

    assert fences == [1, 2, 3]


def test_a_suspect_is_refused_by_a_process_that_carries_one(store: StoreHarness) -> None:
    store.say("poison")
    store.take("w1")
    store.crash()

    assert store.refused("w2", may_suspect=False) == "suspect"
    due = store.due_at()
    assert due is not None
    assert 0 < due - store.now() <= LEASE_MS, "the sweep looks again if nobody else takes it"
    assert store.take("w2", may_suspect=True).attempt == 2
    assert store.redis.hgetall(store.keys.suspects) == {"w2": store.ctl("run")}


def test_a_suspect_without_a_place_keeps_no_slot_from_those_behind_it(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    suspect, other = session_named("a", "b")
    store.say("hi", session=suspect)
    store.say("hi", session=other)
    store.take("w1", session=suspect)
    assert store.refused(session=other) == "lane"
    store.crash(suspect)
    assert store.slots() == {suspect}, "it kept its ticket"

    refused = store.try_take("w2", session=suspect, may_suspect=False)

    assert isinstance(refused, NotTaken)
    assert (refused.why, [session for _, session in refused.granted]) == ("suspect", [other])
    taken = store.take("w2", session=other, may_suspect=False)
    store.recover(suspect)
    assert store.line() == [suspect], "and comes before all others when it is looked at again"
    store.commit(taken, worker="w2")
    store.take("w3", session=suspect)


def test_over_the_lane_cap_sessions_wait_in_line_without_being_polled(make_store: MakeStore) -> None:
    store = make_store(cap=2)
    sessions = session_named("a", "b", "c", "d")
    for session in sessions:
        store.say("hi", session=session)

    answers = [store.try_take(session=session) for session in sessions]

    assert [answer.why if isinstance(answer, NotTaken) else "taken" for answer in answers] == [
        "taken",
        "taken",
        "lane",
        "lane",
    ]
    assert store.slots() == set(sessions[:2])
    assert store.line() == sessions[2:]
    due = store.due_at(f"turn|{sessions[2]}")
    assert due is not None
    assert due - store.now() > 10 * REWAKE_MS
    assert store.run(store.ctl("run", sessions[2])).state == "queued"


def test_a_granted_slot_is_kept_for_the_head_of_the_line(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        store.say("hi", session=session)
    taken = store.take(session=first)
    assert store.refused(session=second) == "lane"

    committed = store.commit(taken)

    assert [session for _, session in committed.granted] == [second]
    assert store.refused(session=third) == "lane", "the slot is kept for the head of the line"
    assert isinstance(store.try_take(session=second), Taken)


def test_a_newcomer_does_not_overtake_the_line_when_there_is_room_for_more(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        store.say("hi", session=session)
    store.take(session=first)
    assert store.refused(session=second) == "lane"

    roomier = make_store(cap=2)  # a worker started with a new configuration

    assert roomier.refused(session=third) == "lane"
    assert isinstance(roomier.try_take(session=second), Taken)


def test_asking_again_keeps_the_place_in_line(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        store.say("hi", session=session)
    store.take(session=first)
    for session in (second, third, second):
        assert store.refused(session=session) == "lane"

    assert store.line() == [second, third]


def test_a_slot_whose_holder_is_only_late_is_not_given_away(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second = session_named("a", "b")
    store.say("hi", session=first)
    store.say("hi", session=second)
    late = store.take("w1", session=first)
    store.expire(first)

    assert store.refused(session=second) == "lane", "only the sweep judges, and it takes the lease with the slot"
    assert store.leases.tick(WorkerId("w1"), {}, [late.lease]).verdicts == ["ok"]
    assert store.slots() == {first}


def test_after_a_freeze_no_slot_is_taken_away(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second = session_named("a", "b")
    store.say("hi", session=first)
    store.say("hi", session=second)
    store.take(session=first)
    store.expire(first)
    store.redis.hset(store.keys.sweep, "last", str(store.now() - 2 * LEASE_MS))

    assert store.refused(session=second) == "lane"
    assert store.slots() == {first}
    assert store.redis.zcard(store.keys.line(Lane.MAIN)) == 1
