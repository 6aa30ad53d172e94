"""Reset and deletion from outside: whatever runs loses its lease, and nothing late brings anything back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.inbox import Accepted, Stopped
from openclaw_workers.store.turn_records import Taken
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import HERE, SESSION, StoreHarness, child_key, session_named, texts

SAID = AssistantEntry(content=[TextBlock(text="of the old generation")])

End = Callable[[StoreHarness], object]


def reset(store: StoreHarness) -> object:
    ended = store.sessions.reset(SESSION, Lane.MAIN, cap=store.cap)
    return ended and ended.granted


def delete(store: StoreHarness) -> object:
    ended = store.sessions.delete(SESSION, Lane.MAIN, cap=store.cap)
    return ended and ended.granted


both = pytest.mark.parametrize("end", [reset, delete])


def late_writes(store: StoreHarness, taken: Taken) -> None:
    """Everything an owner could still try."""
    for _ in range(2):
        with pytest.raises(LeaseLost):
            store.turns().step(taken.lease, taken.step + 1, [SAID], events=[{"type": "text.delta", "data": {}}])
        with pytest.raises(LeaseLost):
            store.turns().emit(taken.lease, [{"type": "text.delta", "data": {}}])
        with pytest.raises(LeaseLost):
            store.turns().release(taken.lease)
        with pytest.raises(LeaseLost):
            store.commit(taken, "late", entries=[SAID])
        assert store.leases.tick(WorkerId("w1"), {}, [taken.lease]).verdicts == ["lost"]


def test_the_order_of_sessions_follows_what_their_rows_say(store: StoreHarness) -> None:
    def act(what: Callable[[], object]) -> None:
        # Long ago for both, so that whoever moves one has to move the other.
        store.redis.zadd(store.keys.sessions, {SESSION: 1}, xx=True)
        store.redis.hset(store.keys.row(SESSION), "updatedAt", "1")
        what()
        updated = int(store.row()["updatedAt"])
        assert updated > 1
        assert store.redis.zscore(store.keys.sessions, SESSION) == updated

    store.say("one")
    act(lambda: store.say("two"))
    taken = store.take()
    store.spawn(taken, "a")
    act(lambda: store.commit(taken))
    store.commit(store.take(session=child_key("a"), run="run-a"))
    act(store.announce)
    store.commit(store.take())
    store.say("three")
    act(store.take_stale)
    act(lambda: reset(store))


@both
def test_there_is_nothing_to_end_in_a_session_that_does_not_exist(store: StoreHarness, end: End) -> None:
    assert end(store) is None
    assert store.redis.keys("*") == []


@both
def test_running_and_waiting_messages_are_cancelled_with_a_receipt(store: StoreHarness, end: End) -> None:
    store.say("running", run="run-a")
    store.take()
    store.say("waiting")
    store.say("/new", kind="command")

    assert end(store) == ()

    assert store.states("running", "waiting", "/new") == ["cancelled"] * 3
    run = store.run("run-a")
    assert (run.state, run.reason) == (RunState.KILLED, f"session-{end.__name__}")
    assert run.covers == ["running", "waiting", "/new"]
    assert store.due_at() is None
    assert store.reader.running() == []


@both
def test_the_transcript_is_left_for_the_archive(store: StoreHarness, end: End) -> None:
    store.say("one")
    store.commit(store.take(), entries=[SAID])
    old = store.row()["sessionId"]

    end(store)

    assert store.log() == []
    (archive_id,) = map(str, store.redis.hkeys(store.keys.archives))
    archive, entries = store.archive()
    assert archive_id == old
    assert (archive.session_id, archive.agent_id, len(entries)) == (old, "main", 2)
    assert store.due_at(f"archive|{archive_id}") is not None
    assert store.archives.trim(archive, 2, size=9, place=HERE) == 0
    assert store.archives.claim(archive_id, HERE) is None
    assert store.due_at(f"archive|{archive_id}") is None
    assert store.redis.keys(store.keys.archive("*")) == []


@both
def test_a_turn_in_flight_can_write_nothing_more(store: StoreHarness, end: End) -> None:
    store.say("hi", run="run-a")
    taken = store.take()
    end(store)
    before = store.log()

    late_writes(store, taken)

    assert store.log() == before == []
    assert store.run("run-a").state == RunState.KILLED
    assert store.run("run-a").usage.input == 0


def test_nothing_of_the_old_turn_enters_the_new_generation(store: StoreHarness) -> None:
    store.say("old")
    taken = store.take("w1")
    reset(store)
    store.say("new")
    fresh = store.take("w2")

    late_writes(store, taken)

    store.commit(fresh, worker="w2", entries=[AssistantEntry(content=[TextBlock(text="new answer")])])
    assert [entry.role for entry in store.log()] == ["user", "assistant"]
    assert texts(store.users()[0]) == ["new"]


def test_a_reset_keeps_the_row_and_its_settings_under_a_new_session_id(store: StoreHarness) -> None:
    store.say("hi")
    store.sessions.patch(SESSION, {"queueMode": "steer"})
    store.commit(store.take(), usage=Usage(input=5))
    old = store.row()

    reset(store)

    new = store.row()
    assert new["sessionId"] != old["sessionId"]
    assert (new["createdAt"], new["queueMode"], new["inputTokens"], new["turns"]) == (
        old["createdAt"],
        "steer",
        "0",
        "0",
    )
    assert store.events()[-1] == "session.reset"


def test_a_deleted_session_leaves_only_what_tells_how_its_messages_ended(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    taken = store.take("w1")
    delete(store)
    late_writes(store, taken)
    assert store.stop() == Stopped(run=None)
    assert store.recover().verb == "gone"
    assert not store.sessions.patch(SESSION, {"label": "back"})
    assert store.refused(run="run-a") == "gone"

    k = store.keys
    gone = [k.row(SESSION), k.ctl(SESSION), k.inbox(SESSION), k.bound(SESSION), k.log(SESSION)]
    assert store.redis.exists(*gone) == 0
    assert store.reader.sessions() == []
    for key in (k.receipts(SESSION), k.settled_receipts(SESSION), k.events(SESSION), k.run("run-a")):
        assert store.redis.ttl(key) > 0, key
    assert store.receipt("hi").state is MessageState.CANCELLED


def test_a_session_begun_again_after_deletion_does_not_expire_with_the_old_one(store: StoreHarness) -> None:
    store.say("old")
    store.commit(store.take())
    delete(store)

    accepted = store.say("new")

    assert isinstance(accepted, Accepted)
    assert accepted.wake is not None
    k = store.keys
    for key in (k.receipts(SESSION), k.settled_receipts(SESSION), k.row(SESSION), k.ctl(SESSION)):
        assert store.redis.ttl(key) == -1, key
    assert store.redis.ttl(k.events(SESSION)) > 300


def test_ending_a_session_passes_its_slot_on(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    (other,) = session_named("other")
    store.say("hi")
    store.say("hi", session=other)
    store.take()
    assert store.refused(session=other) == "lane"

    assert reset(store) == ((store.ctl("run", other), other),)
    assert store.slots() == {other}


def test_a_waiting_session_that_ends_leaves_the_line(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    (other,) = session_named("other")
    store.say("hi", session=other)
    store.take(session=other)
    store.say("hi")
    assert store.refused() == "lane"

    delete(store)

    assert store.line() == []


def test_patch_sets_and_clears_fields_of_a_session_that_exists(store: StoreHarness) -> None:
    assert not store.sessions.patch(SESSION, {"label": "x"})
    assert store.redis.keys("*") == []
    store.say("hi")

    assert store.sessions.patch(SESSION, {"label": "x", "queueMode": "steer"})
    assert store.sessions.patch(SESSION, {"queueMode": ""})

    assert store.row()["label"] == "x"
    assert "queueMode" not in store.row()
