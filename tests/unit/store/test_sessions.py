"""Reset and deletion from outside: whatever runs loses its lease, and nothing late brings anything back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openclaw_workers.errors import LeaseLost
from openclaw_workers.models.ids import WorkerId
from openclaw_workers.models.messages import MessageState
from openclaw_workers.models.runs import Lane, RunState
from openclaw_workers.models.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.store.inbox import Accepted, Stopped
from openclaw_workers.store.turns import Taken
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import HERE, SESSION, Desk, child_key, session_named, texts

SAID = AssistantEntry(content=[TextBlock(text="of the old life")])

End = Callable[[Desk], object]


def reset(desk: Desk) -> object:
    ended = desk.sessions.reset(SESSION, Lane.MAIN, cap=desk.cap)
    return ended and ended.granted


def delete(desk: Desk) -> object:
    ended = desk.sessions.delete(SESSION, Lane.MAIN, cap=desk.cap)
    return ended and ended.granted


both = pytest.mark.parametrize("end", [reset, delete])


def late_writes(desk: Desk, taken: Taken) -> None:
    """Everything an owner could still try."""
    for _ in range(2):
        with pytest.raises(LeaseLost):
            desk.turns().step(taken.lease, taken.step + 1, [SAID], events=[{"type": "text.delta", "data": {}}])
        with pytest.raises(LeaseLost):
            desk.turns().emit(taken.lease, [{"type": "text.delta", "data": {}}])
        with pytest.raises(LeaseLost):
            desk.turns().release(taken.lease)
        with pytest.raises(LeaseLost):
            desk.commit(taken, "late", entries=[SAID])
        assert desk.fleet.tick(WorkerId("w1"), {}, [taken.lease]).verdicts == ["lost"]


def test_the_order_of_sessions_follows_what_their_rows_say(desk: Desk) -> None:
    def act(what: Callable[[], object]) -> None:
        # Long ago for both, so that whoever moves one has to move the other.
        desk.redis.zadd(desk.keys.sessions, {SESSION: 1}, xx=True)
        desk.redis.hset(desk.keys.row(SESSION), "updatedAt", "1")
        what()
        updated = int(desk.row()["updatedAt"])
        assert updated > 1
        assert desk.redis.zscore(desk.keys.sessions, SESSION) == updated

    desk.say("one")
    act(lambda: desk.say("two"))
    taken = desk.take()
    desk.spawn(taken, "a")
    act(lambda: desk.commit(taken))
    desk.commit(desk.take(session=child_key("a"), run="run-a"))
    act(desk.announce)
    desk.commit(desk.take())
    desk.say("three")
    act(desk.take_stale)
    act(lambda: reset(desk))


@both
def test_there_is_nothing_to_end_in_a_session_that_does_not_exist(desk: Desk, end: End) -> None:
    assert end(desk) is None
    assert desk.redis.keys("*") == []


@both
def test_running_and_waiting_messages_are_cancelled_with_a_receipt(desk: Desk, end: End) -> None:
    desk.say("running", run="run-a")
    desk.take()
    desk.say("waiting")
    desk.say("/new", kind="command")

    assert end(desk) == ()

    assert desk.states("running", "waiting", "/new") == ["cancelled"] * 3
    run = desk.run("run-a")
    assert (run.state, run.reason) == (RunState.KILLED, f"session-{end.__name__}")
    assert run.covers == ["running", "waiting", "/new"]
    assert desk.due() is None
    assert desk.reader.running() == []


@both
def test_the_transcript_is_left_for_the_archive(desk: Desk, end: End) -> None:
    desk.say("one")
    desk.commit(desk.take(), entries=[SAID])
    old = desk.row()["sessionId"]

    end(desk)

    assert desk.log() == []
    (archive_id,) = map(str, desk.redis.hkeys(desk.keys.archives))
    archive, entries = desk.archive()
    assert archive_id == old
    assert (archive.session_id, archive.agent_id, len(entries)) == (old, "main", 2)
    assert desk.due(f"archive|{archive_id}") is not None
    assert desk.archives.trim(archive, 2, size=9, place=HERE) == 0
    assert desk.archives.claim(archive_id, HERE) is None
    assert desk.due(f"archive|{archive_id}") is None
    assert desk.redis.keys(desk.keys.archive("*")) == []


@both
def test_a_turn_in_flight_can_write_nothing_more(desk: Desk, end: End) -> None:
    desk.say("hi", run="run-a")
    taken = desk.take()
    end(desk)
    before = desk.log()

    late_writes(desk, taken)

    assert desk.log() == before == []
    assert desk.run("run-a").state == RunState.KILLED
    assert desk.run("run-a").usage.input == 0


@both
@pytest.mark.parametrize("state", ["bogus", ""])
def test_a_run_that_is_over_stays_as_it_ended_whatever_state_its_session_is_in(
    desk: Desk, end: End, state: str
) -> None:
    desk.say("hi", run="run-a")
    desk.commit(desk.take())
    desk.redis.hset(desk.keys.ctl(SESSION), "state", state)

    assert desk.stop() == Stopped(run=None)
    assert end(desk) == ()

    assert desk.run("run-a").state is RunState.OK


def test_results_of_children_wake_a_parent_in_a_state_that_there_is_not(desk: Desk) -> None:
    desk.say("hi", run="run-p")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    desk.commit(desk.take(session=child_key("a"), run="run-a"))
    desk.redis.hset(desk.keys.ctl(SESSION), "state", "bogus")

    announced = desk.announce(run="run-next")

    assert announced is not None
    assert announced.wake == "run-next"
    assert desk.ctl("state") == "queued"


def test_nothing_of_the_old_turn_enters_the_new_life(desk: Desk) -> None:
    desk.say("old")
    taken = desk.take("w1")
    reset(desk)
    desk.say("new")
    fresh = desk.take("w2")

    late_writes(desk, taken)

    desk.commit(fresh, worker="w2", entries=[AssistantEntry(content=[TextBlock(text="new answer")])])
    assert [entry.role for entry in desk.log()] == ["user", "assistant"]
    assert texts(desk.users()[0]) == ["new"]


def test_a_reset_keeps_the_row_and_its_settings_under_a_new_session_id(desk: Desk) -> None:
    desk.say("hi")
    desk.sessions.patch(SESSION, {"queueMode": "steer"})
    desk.commit(desk.take(), usage=Usage(input=5))
    old = desk.row()

    reset(desk)

    new = desk.row()
    assert new["sessionId"] != old["sessionId"]
    assert (new["createdAt"], new["queueMode"], new["inputTokens"], new["turns"]) == (
        old["createdAt"],
        "steer",
        "0",
        "0",
    )
    assert desk.events()[-1] == "session.reset"


def test_a_deleted_session_leaves_only_what_tells_how_its_messages_ended(desk: Desk) -> None:
    desk.say("hi", run="run-a")
    taken = desk.take("w1")
    delete(desk)
    late_writes(desk, taken)
    assert desk.stop() == Stopped(run=None)
    assert desk.rescue().verb == "gone"
    assert not desk.sessions.patch(SESSION, {"label": "back"})
    assert desk.refused(run="run-a") == "gone"

    k = desk.keys
    gone = [k.row(SESSION), k.ctl(SESSION), k.inbox(SESSION), k.bound(SESSION), k.log(SESSION)]
    assert desk.redis.exists(*gone) == 0
    assert desk.reader.sessions() == []
    for key in (k.receipts(SESSION), k.ages(SESSION), k.events(SESSION), k.run("run-a")):
        assert desk.redis.ttl(key) > 0, key
    assert desk.receipt("hi").state is MessageState.CANCELLED


def test_a_session_begun_again_after_deletion_does_not_expire_with_the_old_one(desk: Desk) -> None:
    desk.say("old")
    desk.commit(desk.take())
    delete(desk)

    accepted = desk.say("new")

    assert isinstance(accepted, Accepted)
    assert accepted.wake is not None
    k = desk.keys
    for key in (k.receipts(SESSION), k.ages(SESSION), k.events(SESSION), k.row(SESSION), k.ctl(SESSION)):
        assert desk.redis.ttl(key) == -1, key


def test_ending_a_session_passes_its_slot_on(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    (other,) = session_named("other")
    desk.say("hi")
    desk.say("hi", session=other)
    desk.take()
    assert desk.refused(session=other) == "lane"

    assert reset(desk) == ((desk.ctl("run", other), other),)
    assert desk.slots() == {other}


def test_a_waiting_session_that_ends_leaves_the_line(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    (other,) = session_named("other")
    desk.say("hi", session=other)
    desk.take(session=other)
    desk.say("hi")
    assert desk.refused() == "lane"

    delete(desk)

    assert desk.line() == []


def test_patch_sets_and_clears_fields_of_a_session_that_exists(desk: Desk) -> None:
    assert not desk.sessions.patch(SESSION, {"label": "x"})
    assert desk.redis.keys("*") == []
    desk.say("hi")

    assert desk.sessions.patch(SESSION, {"label": "x", "queueMode": "steer"})
    assert desk.sessions.patch(SESSION, {"queueMode": ""})

    assert desk.row()["label"] == "x"
    assert "queueMode" not in desk.row()
