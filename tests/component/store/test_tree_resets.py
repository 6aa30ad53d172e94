"""Results that wait while their session is reset, and those that come too late."""

from __future__ import annotations

from openclaw_workers.domain.messages import MessageState, QueueMode
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.tree import BatchState
from tests.component.store.harness import SESSION, StoreHarness
from tests.component.store.tree_steps import announce_waits_in_a_busy_root, archived_texts, end_child, take_child


def test_results_that_wait_at_a_reset_join_the_transcript_that_asked_for_them(store: StoreHarness) -> None:
    busy = announce_waits_in_a_busy_root(store)

    store.sessions.reset(SESSION, Lane.MAIN, cap=0)

    assert archived_texts(store)[-1] == "results"
    assert store.states("announce-batch-1") == [MessageState.CANCELLED]
    assert "subagent.discarded" in store.events()
    assert store.log() == []
    assert busy.lease.run == "run-two"


def test_results_that_wait_at_a_command_to_reset_join_the_old_transcript(store: StoreHarness) -> None:
    busy = announce_waits_in_a_busy_root(store)

    store.commit(busy, reset=True)

    assert archived_texts(store)[-1] == "results"
    assert store.log() == []
    assert store.ctl("state") == "idle"


def test_results_that_wait_in_a_stale_session_join_the_old_transcript(store: StoreHarness) -> None:
    # Given a person's message, and behind it results that nobody has read
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    store.say("two", id="two", run="run-two")
    end_child(store, "a")
    store.announce()

    store.take_stale()

    assert archived_texts(store)[-1] == "results"
    assert [entry.content[0].text for entry in store.users()] == ["two"]
    assert store.waiting() == []


def test_what_another_session_says_survives_a_stale_reset(store: StoreHarness) -> None:
    store.say("one")
    store.commit(store.take())
    store.say("two", id="two")
    store.say("from elsewhere", id="three", kind="internal", mode=QueueMode.FOLLOWUP)

    store.take_stale()

    assert store.waiting() == ["three"]


def test_late_results_are_kept_for_the_archive_in_the_moment_they_are_announced(store: StoreHarness) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    taken, old = take_child(store, "a"), store.row()["sessionId"]
    store.sessions.reset(SESSION, Lane.MAIN, cap=0)
    store.commit(taken)

    announced = store.announce()

    assert announced is not None
    assert announced.how is BatchState.ARCHIVED
    (archive_id,) = store.redis.hkeys(store.keys.archives)
    assert archive_id == old, "they are behind the transcript that was cut off"
    assert archived_texts(store) == ["one", "results"]
    assert store.due_at(f"archive|{old}") is not None
    assert store.log() == []
