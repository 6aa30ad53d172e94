"""Taking: one owner, the right messages bound in order, stale sessions begun anew, lanes kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.models.ids import WorkerId
from openclaw_workers.models.messages import Authority, QueueMode, Route
from openclaw_workers.models.runs import Lane
from openclaw_workers.store.turns import NotTaken, Taken
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import LEASE_MS, REWAKE_MS, SESSION, Desk, session_named, texts

HOUR_MS = 3_600_000


def test_the_owner_gets_all_it_needs(desk: Desk) -> None:
    desk.say("hi", sender="Ann", run="run-a")

    taken = desk.take("w1", nonce="n1")

    assert (taken.lease.token, taken.lease.run, taken.step, taken.attempt) == ("1:n1", "run-a", 0, 1)
    assert (taken.resumed, taken.started_call, taken.abort, taken.log_length) == (False, "", "", 1)
    assert [json.loads(raw)["id"] for raw in taken.bound] == ["hi"]
    assert [json.loads(raw)["role"] for raw in taken.tail] == ["user"]
    assert taken.row["sessionKey"] == SESSION
    assert taken.deadline_at - taken.now == 600_000
    assert desk.states("hi") == ["bound"]
    run = desk.run("run-a")
    assert (run.state, run.covers, run.session_id) == ("running", ["hi"], desk.row()["sessionId"])
    assert [attempt.worker for attempt in run.attempts] == ["w1"]
    assert desk.reader.running() == [SESSION]
    assert desk.events() == ["message.accepted", "run.started"]


def test_a_session_without_work_is_not_taken(desk: Desk) -> None:
    assert desk.refused(run="run-x") == "gone"
    desk.say("hi", run="run-a")
    assert desk.refused(run="run-x") == "stale"
    taken = desk.take("w1")
    assert desk.refused("w2") == "held"
    desk.commit(taken)
    assert desk.refused(run="run-a") == "idle"


def test_the_same_nonce_gets_the_same_answer_and_another_one_does_not(desk: Desk) -> None:
    desk.say("hi")
    first = desk.take("w1", nonce="n1")

    again = desk.take("w1", nonce="n1")

    assert (again.lease, again.step, again.bound, again.tail) == (first.lease, first.step, first.bound, first.tail)
    assert desk.ctl("fence") == "1"
    assert len(desk.log()) == 1
    assert desk.refused("w1", nonce="n2") == "held"


def test_a_nonce_of_an_earlier_lease_opens_nothing(desk: Desk) -> None:
    desk.say("hi")
    desk.take("w1", nonce="n1")
    desk.crash()
    desk.take("w2", nonce="n2")

    assert desk.refused("w1", nonce="n1") == "held"


def test_a_debounced_run_is_not_taken_early(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two", debounce_ms=60_000)
    desk.commit(taken)

    assert desk.refused() == "early"


def test_collect_merges_everything_that_waited(desk: Desk) -> None:
    desk.say("one", sender="Ann")
    desk.say("two", sender="Ann")
    desk.say("three")

    desk.take()

    (entry,) = desk.users()
    assert entry.message_ids == ["one", "two", "three"]
    assert texts(entry) == ["Queued #1 (from Ann)\none", "Queued #2 (from Ann)\ntwo", "Queued #3\nthree"]
    assert desk.waiting() == []


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
def test_collect_merges_only_a_prefix_of_the_same_route_and_authority(desk: Desk, different: dict[str, object]) -> None:
    desk.say("one")
    desk.say("two")
    desk.say("other", **different)  # type: ignore[arg-type]
    desk.say("last")

    taken = desk.take()
    assert desk.bound() == ["one", "two"]
    desk.commit(taken)
    taken = desk.take()
    assert desk.bound() == ["other"]
    desk.commit(taken)
    desk.take()
    assert desk.bound() == ["last"]


def test_a_command_is_taken_alone_and_writes_no_entry(desk: Desk) -> None:
    desk.say("/new", kind="command")
    desk.say("after")

    desk.take()

    assert desk.bound() == ["/new"]
    assert desk.log() == []


# On a real Redis only: the in-memory one has no redis.sha1hex, which names the damaged message.
@pytest.mark.parametrize("redis", ["real"], indirect=True)
def test_a_message_that_cannot_be_read_is_taken_alone_and_settled_like_any_other(desk: Desk) -> None:
    desk.say("one")
    desk.redis.zadd(desk.keys.inbox(SESSION), {"{damaged": 1.5})
    desk.say("three")

    bound = []
    while desk.ctl("state") != "idle":
        taken = desk.take()
        bound.append(taken.bound)
        desk.commit(taken)

    assert [len(messages) for messages in bound] == [1, 1, 1]
    assert bound[1] == ["{damaged"]
    assert [texts(entry) for entry in desk.users()] == [["one"], ["three"]]


@pytest.mark.parametrize("how", ["daily", "idle"])
def test_a_stale_session_begins_anew_and_leaves_its_transcript_for_the_archive(desk: Desk, how: str) -> None:
    desk.say("long ago")
    desk.commit(desk.take())
    old = desk.row()["sessionId"]
    desk.redis.hset(desk.keys.row(SESSION), "lastInteractionAt", str(desk.now() - HOUR_MS))
    desk.say("today")

    limits: dict[str, Any] = {"daily_boundary_ms": desk.now() - 1000} if how == "daily" else {"idle_ms": HOUR_MS - 1000}
    taken = desk.take(**limits)

    assert [texts(entry) for entry in desk.users()] == [["today"]]
    assert taken.log_length == 1
    assert taken.row["sessionId"] == desk.row()["sessionId"] != old
    assert desk.row()["turns"] == "0"
    (archive_id,) = map(str, desk.redis.hkeys(desk.keys.archives))
    archive, entries = desk.archive()
    assert (archive.session_id, archive.session_key, len(entries)) == (old, SESSION, 1)
    assert desk.due(f"archive|{archive_id}") is not None
    assert "session.reset" in desk.events()
    # A second look must not find the new session stale again.
    desk.commit(taken)
    desk.say("later")
    assert desk.take(**limits).log_length == 2


def test_a_fresh_session_and_one_without_limits_go_on(desk: Desk) -> None:
    desk.say("one")
    desk.commit(desk.take())
    desk.say("two")
    desk.commit(desk.take(daily_boundary_ms=desk.now() - HOUR_MS, idle_ms=HOUR_MS))
    desk.redis.hset(desk.keys.row(SESSION), "lastInteractionAt", "1")
    desk.say("three")
    desk.take()

    assert [texts(entry) for entry in desk.users()] == [["one"], ["two"], ["three"]]


@pytest.mark.parametrize(("days_ago", "kept"), [(0, True), (2, False)], ids=["just now", "days ago"])
def test_a_worker_whose_clock_is_ahead_begins_nothing_anew_before_its_time(
    desk: Desk, days_ago: int, kept: bool
) -> None:
    desk.say("one")
    desk.commit(desk.take())
    desk.redis.hset(desk.keys.row(SESSION), "lastInteractionAt", str(desk.now() - days_ago * 24 * HOUR_MS))
    desk.say("two")

    desk.take(daily_boundary_ms=desk.now() + HOUR_MS)

    assert [texts(entry) for entry in desk.users()] == ([["one"], ["two"]] if kept else [["two"]])


def test_a_resumed_run_is_never_reset_and_binds_nothing_new(desk: Desk) -> None:
    desk.say("one")
    desk.take("w1")
    desk.say("two")
    desk.crash()
    desk.redis.hset(desk.keys.row(SESSION), "lastInteractionAt", "1")

    taken = desk.take("w2", daily_boundary_ms=desk.now())

    assert taken.resumed
    assert taken.log_length == 1
    assert (desk.bound(), desk.waiting()) == (["one"], ["two"])
    assert [attempt.how for attempt in desk.run(taken.lease.run).attempts] == ["taken", "takeover"]


@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.STEER_BACKLOG])
@pytest.mark.parametrize("lost_by", ["crash", "release"])
def test_the_next_owner_is_told_of_steering_that_the_last_one_did_not_see(
    desk: Desk, mode: QueueMode, lost_by: str
) -> None:
    desk.say("one", mode=mode)
    first = desk.take("w1", nonce="a")
    desk.say("two", mode=mode)
    assert not desk.take("w1", nonce="a").steering_waits, "a step of its own will bring it"
    if lost_by == "crash":
        desk.crash()
    else:
        desk.turns("w1").release(first.lease)

    second = desk.take("w2", nonce="b")
    assert second.steering_waits
    assert desk.take("w2", nonce="b").steering_waits, "a repeat gets the same answer"
    desk.turns("w2").step(second.lease, 1, [], may_steer=True)
    desk.crash()

    assert not desk.take("w3").steering_waits


def test_steering_is_not_looked_for_where_none_waits(desk: Desk) -> None:
    desk.say("one", mode=QueueMode.STEER)
    taken = desk.take()
    assert not taken.steering_waits
    desk.crash()
    assert not desk.take().steering_waits, "the message it carries was one to steer; no other is there"
    desk.say("two", mode=QueueMode.FOLLOWUP)
    desk.say("three", mode=QueueMode.STEER)
    desk.crash()
    assert desk.take().steering_waits


def test_the_fence_only_grows(desk: Desk) -> None:
    desk.say("one")
    fences = []
    for worker in ("w1", "w2", "w3"):
        fences.append(int(desk.take(worker).lease.token.split(":")[0]))
        desk.crash()

    assert fences == [1, 2, 3]


def test_a_suspect_is_refused_by_a_process_that_carries_one(desk: Desk) -> None:
    desk.say("poison")
    desk.take("w1")
    desk.crash()

    assert desk.refused("w2", may_suspect=False) == "suspect"
    due = desk.due()
    assert due is not None
    assert 0 < due - desk.now() <= LEASE_MS, "the sweep looks again if nobody else takes it"
    assert desk.take("w2", may_suspect=True).attempt == 2
    assert desk.redis.hgetall(desk.keys.suspects) == {"w2": desk.ctl("run")}


def test_a_suspect_without_a_place_keeps_no_slot_from_those_behind_it(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    suspect, other = session_named("a", "b")
    desk.say("hi", session=suspect)
    desk.say("hi", session=other)
    desk.take("w1", session=suspect)
    assert desk.refused(session=other) == "lane"
    desk.crash(suspect)
    assert desk.slots() == {suspect}, "it kept its ticket"

    refused = desk.try_take("w2", session=suspect, may_suspect=False)

    assert isinstance(refused, NotTaken)
    assert (refused.why, [session for _, session in refused.granted]) == ("suspect", [other])
    taken = desk.take("w2", session=other, may_suspect=False)
    desk.rescue(suspect)
    assert desk.line() == [suspect], "and comes before all others when it is looked at again"
    desk.commit(taken, worker="w2")
    desk.take("w3", session=suspect)


def test_over_the_lane_cap_sessions_wait_in_line_without_being_polled(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=2)
    sessions = session_named("a", "b", "c", "d")
    for session in sessions:
        desk.say("hi", session=session)

    answers = [desk.try_take(session=session) for session in sessions]

    assert [answer.why if isinstance(answer, NotTaken) else "taken" for answer in answers] == [
        "taken",
        "taken",
        "lane",
        "lane",
    ]
    assert desk.slots() == set(sessions[:2])
    assert desk.line() == sessions[2:]
    due = desk.due(f"turn|{sessions[2]}")
    assert due is not None
    assert due - desk.now() > 10 * REWAKE_MS
    assert desk.run(desk.ctl("run", sessions[2])).state == "queued"


def test_a_granted_slot_is_kept_for_the_head_of_the_line(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        desk.say("hi", session=session)
    taken = desk.take(session=first)
    assert desk.refused(session=second) == "lane"

    committed = desk.commit(taken)

    assert [session for _, session in committed.granted] == [second]
    assert desk.refused(session=third) == "lane", "the slot is kept for the head of the line"
    assert isinstance(desk.try_take(session=second), Taken)


def test_a_newcomer_does_not_overtake_the_line_when_there_is_room_for_more(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        desk.say("hi", session=session)
    desk.take(session=first)
    assert desk.refused(session=second) == "lane"

    roomier = make_desk(cap=2)  # a worker started with a new configuration

    assert roomier.refused(session=third) == "lane"
    assert isinstance(roomier.try_take(session=second), Taken)


def test_asking_again_keeps_the_place_in_line(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        desk.say("hi", session=session)
    desk.take(session=first)
    for session in (second, third, second):
        assert desk.refused(session=session) == "lane"

    assert desk.line() == [second, third]


def test_a_slot_whose_holder_is_only_late_is_not_given_away(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second = session_named("a", "b")
    desk.say("hi", session=first)
    desk.say("hi", session=second)
    late = desk.take("w1", session=first)
    desk.expire(first)

    assert desk.refused(session=second) == "lane", "only the sweep judges, and it takes the lease with the slot"
    assert desk.fleet.tick(WorkerId("w1"), {}, [late.lease]).verdicts == ["ok"]
    assert desk.slots() == {first}


def test_after_a_freeze_no_slot_is_taken_away(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second = session_named("a", "b")
    desk.say("hi", session=first)
    desk.say("hi", session=second)
    desk.take(session=first)
    desk.expire(first)
    desk.redis.hset(desk.keys.sweep, "last", str(desk.now() - 2 * LEASE_MS))

    assert desk.refused(session=second) == "lane"
    assert desk.slots() == {first}
    assert desk.redis.zcard(desk.keys.line(Lane.MAIN)) == 1
