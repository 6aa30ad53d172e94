"""Ending a turn: everything at once, once, by the owner; and giving one back unfinished."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.messages import MessageState, QueueMode
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, Usage
from openclaw_workers.errors import LeaseLost
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import SESSION, StoreHarness, session_named, texts, took

ANSWER = AssistantEntry(content=[TextBlock(text="answer")])


def test_a_commit_settles_messages_run_transcript_and_session_together(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    taken = store.take()

    committed = store.commit(taken, "answer", entries=[ANSWER], usage=Usage(input=7, output=3), model="offline/demo")

    assert (committed.next_run, committed.delay_ms, committed.granted) == (None, 0, ())
    assert [entry.role for entry in store.log()] == ["user", "assistant"]
    receipt, run = store.receipt("hi"), store.run("run-a")
    assert (receipt.state, receipt.run, receipt.reason) == (MessageState.ANSWERED, "run-a", "complete")
    assert (run.state, run.reason, run.text, run.model, run.covers) == (
        "ok",
        "complete",
        "answer",
        "offline/demo",
        ["hi"],
    )
    assert run.ended_at is not None
    assert store.ctl("state") == "idle"
    assert store.ctl("lease") == store.ctl("owner") == ""
    assert store.due_at() is None
    assert store.reader.running() == []
    assert store.events()[-1] == "run.ended"
    assert 6 * 86_400 < store.redis.ttl(store.keys.run("run-a")) <= 7 * 86_400


def test_counters_grow_with_each_turn_by_all_its_steps(store: StoreHarness) -> None:
    for text in ("one", "two"):
        store.say(text)
        taken = store.take()
        store.turns().step(
            taken.lease, 1, [], calls=took(taken.lease, Usage(input=10, output=1, cache_read=4, cache_write=2))
        )
        store.commit(taken, usage=Usage(input=5), context_tokens=15)

    row = store.row()
    assert (row["inputTokens"], row["outputTokens"], row["cacheRead"], row["cacheWrite"]) == ("30", "2", "8", "4")
    assert (row["totalTokens"], row["turns"], row["contextTokens"]) == ("44", "2", "15")


def test_only_turns_of_people_keep_a_session_fresh(store: StoreHarness) -> None:
    store.say("hi")
    store.commit(store.take())
    store.redis.hset(store.keys.row(SESSION), "lastInteractionAt", "123")
    store.say("heartbeat", kind="internal")
    store.commit(store.take())
    assert store.row()["lastInteractionAt"] == "123"

    store.say("hi again")
    store.commit(store.take())
    assert int(store.row()["lastInteractionAt"]) > 123


def test_a_failed_turn_says_so_of_its_messages(store: StoreHarness) -> None:
    store.say("hi")
    taken = store.take()

    store.commit(taken, state=RunState.ERROR, reason="auth", messages=MessageState.FAILED, error="no key")

    assert (store.receipt("hi").state, store.receipt("hi").reason) == (MessageState.FAILED, "auth")
    assert store.run(taken.lease.run).error == "no key"


def test_a_repeated_commit_gets_the_first_answer_and_changes_nothing(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two")
    first = store.commit(taken, entries=[ANSWER], usage=Usage(input=5), next_run="run-next")

    again = store.commit(taken, entries=[ANSWER], usage=Usage(input=5), next_run="run-other")

    assert again.next_run == first.next_run == "run-next"
    assert [entry.role for entry in store.log()] == ["user", "assistant"]
    assert (store.row()["turns"], store.row()["inputTokens"]) == ("1", "5")
    assert store.ctl("run") == "run-next"


def test_a_repeated_commit_of_a_finished_session_opens_nothing(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.commit(taken)

    assert store.commit(taken).next_run is None
    assert store.ctl("state") == "idle"


def test_a_worker_that_lost_the_session_cannot_commit(store: StoreHarness) -> None:
    store.say("hi")
    slow = store.take("w1")
    store.crash()
    with pytest.raises(LeaseLost):
        store.commit(slow, "too late", worker="w1", entries=[ANSWER])
    quick = store.take("w2")
    with pytest.raises(LeaseLost):
        store.commit(slow, "too late", worker="w1", entries=[ANSWER])
    store.commit(quick, "in time", worker="w2", entries=[ANSWER])
    with pytest.raises(LeaseLost):
        store.commit(slow, "too late", worker="w1", entries=[ANSWER])

    assert store.run(slow.lease.run).text == "in time"
    assert [entry.role for entry in store.log()] == ["user", "assistant"]
    assert store.row()["turns"] == "1"


def test_waiting_messages_keep_the_session_scheduled_under_a_new_run(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two", mode=QueueMode.FOLLOWUP, debounce_ms=60_000)
    store.say("three", mode=QueueMode.FOLLOWUP, debounce_ms=60_000)

    committed = store.commit(taken, next_run="run-b")

    assert (committed.next_run, committed.delay_ms) == ("run-b", 0), "followup does not wait for quiet"
    assert (store.ctl("state"), store.ctl("attempt"), store.ctl("step")) == ("queued", "1", "0")
    assert store.run("run-b").state == "queued"
    store.take()
    assert (store.bound(), store.waiting()) == (["two"], ["three"])


@pytest.mark.parametrize(
    ("waiting", "debounce_ms", "pushed", "to_publish"),
    [(True, 0, ["wake"], False), (True, 60_000, [], True), (False, 0, [], False)],
)
def test_the_next_wake_up_is_pushed_if_messages_wait_and_their_time_has_come(
    store: StoreHarness, waiting: bool, debounce_ms: int, pushed: list[str], to_publish: bool
) -> None:
    store.say("one")
    taken = store.take()
    if waiting:
        store.say("two", debounce_ms=debounce_ms)

    committed = store.commit(taken, wake="wake")

    assert store.queue() == pushed
    assert (committed.next_run is not None) == to_publish
    again = store.commit(taken, wake="wake")
    assert store.queue() == pushed
    assert (again.next_run is not None) == waiting, "the first answer may be lost; one wake-up more costs nothing"


def test_collected_messages_wait_for_quiet_since_the_last_one(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two", debounce_ms=10_000)

    committed = store.commit(taken)

    assert 9_000 < committed.delay_ms <= 10_000
    due = store.due_at()
    assert due is not None
    assert 9_000 < due - store.now() <= 10_000
    store.redis.hset(store.keys.ctl(SESSION), "ready_at", str(store.now() + 3_000))
    store.say("three", debounce_ms=10_000)
    assert 9_000 < int(store.ctl("ready_at")) - store.now() <= 10_000, "a newcomer restarts the quiet time"


def test_the_wait_for_quiet_ends_five_debounces_after_the_first_message(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("two", debounce_ms=10_000)
    (raw,) = map(str, store.redis.zrange(store.keys.inbox(SESSION), 0, 0))
    accepted_at = store.inbox.waiting(SESSION)[0].accepted_at
    earlier = raw.replace(str(accepted_at), str(accepted_at - 49_000))
    store.redis.zrem(store.keys.inbox(SESSION), raw)
    store.redis.zadd(store.keys.inbox(SESSION), {earlier: 2})
    store.say("three", debounce_ms=10_000)

    assert 0 < store.commit(taken).delay_ms <= 1_000
    store.say("four", debounce_ms=10_000)
    assert int(store.ctl("ready_at")) - store.now() <= 1_000


def test_a_command_at_the_head_does_not_wait_for_quiet(store: StoreHarness) -> None:
    store.say("one")
    taken = store.take()
    store.say("/new", kind="command", debounce_ms=10_000)
    store.say("two", debounce_ms=10_000)

    assert store.commit(taken).delay_ms == 0


def test_a_reset_by_command_archives_and_goes_on_with_what_waits(store: StoreHarness) -> None:
    store.say("old")
    store.commit(store.take())
    old = store.row()["sessionId"]
    store.say("/new", kind="command")
    taken = store.take()
    store.say("new")

    committed = store.commit(taken, "New session.", reset=True, row={"modelOverride": "script"})

    assert committed.next_run is not None
    assert store.log() == []
    assert store.row()["sessionId"] != old
    assert store.row()["modelOverride"] == "script"
    assert store.row()["inputTokens"] == "0"
    assert len(store.redis.hkeys(store.keys.archives)) == 1
    store.take()
    assert [texts(entry) for entry in store.users()] == [["new"]]


def test_a_commit_frees_the_slot_and_grants_it_to_the_head_of_the_line(make_store: MakeStore) -> None:
    store = make_store(cap=2)
    sessions = session_named("a", "b", "c", "d")
    for session in sessions:
        store.say("hi", session=session)
    first, _ = store.take(session=sessions[0]), store.take(session=sessions[1])
    for session in sessions[2:]:
        assert store.refused(session=session) == "lane"

    committed = store.commit(first)

    assert committed.granted == ((store.ctl("run", sessions[2]), sessions[2]),)
    assert store.slots() == {sessions[1], sessions[2]}
    assert store.line() == [sessions[3]]
    due = store.due_at(f"turn|{sessions[2]}")
    assert due is not None
    assert due - store.now() <= 4_000, "a grant that nobody uses is looked at soon"


def test_a_slot_is_freed_also_by_a_worker_that_knows_of_no_cap(make_store: MakeStore) -> None:
    """While a configuration without the cap is rolled out, and after it."""
    store = make_store(cap=1)
    first, second = session_named("a", "b")
    store.say("hi", session=first)
    store.say("hi", session=second)
    taken = store.take(session=first)
    assert store.refused(session=second) == "lane"
    store.commit(taken)
    assert store.slots() == {second}

    store.cap = 0
    store.commit(store.take(session=second))

    assert store.slots() == set()


def test_a_session_that_goes_on_returns_to_the_end_of_the_line(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    busy, other = session_named("busy", "other")
    store.say("one", session=busy, mode=QueueMode.FOLLOWUP)
    store.say("two", session=busy, mode=QueueMode.FOLLOWUP)
    store.say("hi", session=other)
    taken = store.take(session=busy)
    assert store.refused(session=other) == "lane"

    store.commit(taken)

    assert store.refused(session=busy) == "lane"
    store.take(session=other)


def test_a_released_turn_goes_on_elsewhere_without_an_attempt_charged(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    taken = store.take("w1")
    store.turns().step(taken.lease, 1, [ANSWER], starting="call-1", calls=took(taken.lease, Usage(input=3)))

    store.turns("w1").release(taken.lease, calls=took(taken.lease, Usage(input=4, output=1), 2))

    assert (store.ctl("state"), store.ctl("owner"), store.run("run-a").state) == ("queued", "", "queued")
    assert store.bound() == ["hi"]
    after = store.take("w2")
    assert (after.attempt, after.resumed, after.step, after.started_call) == (1, True, 1, "call-1")
    assert [attempt.how for attempt in store.run("run-a").attempts] == ["taken", "handover"]
    store.commit(after, worker="w2", usage=Usage(input=1))
    assert store.run("run-a").usage == Usage(input=8, output=1)
    with pytest.raises(LeaseLost):
        store.commit(taken, "too late")


def test_a_repeated_release_gets_the_first_answer_and_counts_its_tokens_once(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    taken = store.take("w1")
    turns, calls = store.turns("w1"), took(taken.lease, Usage(input=4))

    assert turns.release(taken.lease, calls=calls) == (True, ())
    assert turns.release(taken.lease, calls=calls) == (True, ())

    assert store.run("run-a").usage.input == 4
    assert store.events().count("run.released") == 1
    after = store.take("w2")
    turns.release(taken.lease)
    assert store.ctl("lease") == after.lease.token, "a late repeat takes nothing from the next owner"


def test_a_worker_that_lost_the_session_cannot_release_it(store: StoreHarness) -> None:
    store.say("hi")
    taken = store.take("w1")
    store.crash()
    store.take("w2")

    with pytest.raises(LeaseLost):
        store.turns("w1").release(taken.lease)
    assert (store.ctl("state"), store.ctl("owner")) == ("running", "w2")


def test_a_released_turn_keeps_its_place_in_the_lane(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second = session_named("a", "b")
    store.say("hi", session=first)
    store.say("hi", session=second)
    taken = store.take("w1", session=first)
    assert store.refused(session=second) == "lane"

    _, granted = store.turns("w1").release(taken.lease)

    assert [session for _, session in granted] == [first], "its ticket is older than the other's"
    assert store.refused(session=second) == "lane"
    store.take("w2", session=first)


def test_a_suspect_that_commits_or_is_released_is_no_longer_suspect(store: StoreHarness) -> None:
    store.say("hi")
    store.take("w1")
    store.crash()
    second = store.take("w2")
    assert store.redis.hgetall(store.keys.suspects) == {"w2": second.lease.run}
    store.turns("w2").release(second.lease)
    assert store.redis.hgetall(store.keys.suspects) == {}
    third = store.take("w3")
    store.commit(third, worker="w3")
    assert store.redis.hgetall(store.keys.suspects) == {}
