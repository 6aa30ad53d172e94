"""Ending a turn: everything at once, once, by the owner; and giving one back unfinished."""

from __future__ import annotations

import pytest

from openclaw_workers.errors import LeaseLost
from openclaw_workers.models.messages import MessageState, QueueMode
from openclaw_workers.models.runs import RunState
from openclaw_workers.models.transcript import AssistantEntry, TextBlock, Usage
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import SESSION, Desk, session_named, texts, took

ANSWER = AssistantEntry(content=[TextBlock(text="answer")])


def test_a_commit_settles_messages_run_transcript_and_session_together(desk: Desk) -> None:
    desk.say("hi", run="run-a")
    taken = desk.take()

    committed = desk.commit(taken, "answer", entries=[ANSWER], usage=Usage(input=7, output=3), model="offline/demo")

    assert (committed.next_run, committed.delay_ms, committed.granted) == (None, 0, ())
    assert [entry.role for entry in desk.log()] == ["user", "assistant"]
    receipt, run = desk.receipt("hi"), desk.run("run-a")
    assert (receipt.state, receipt.run, receipt.reason) == (MessageState.ANSWERED, "run-a", "complete")
    assert (run.state, run.reason, run.text, run.model, run.covers) == (
        "ok",
        "complete",
        "answer",
        "offline/demo",
        ["hi"],
    )
    assert run.ended_at is not None
    assert desk.ctl("state") == "idle"
    assert desk.ctl("lease") == desk.ctl("owner") == ""
    assert desk.due() is None
    assert desk.reader.running() == []
    assert desk.events()[-1] == "run.ended"
    assert 6 * 86_400 < desk.redis.ttl(desk.keys.run("run-a")) <= 7 * 86_400


def test_counters_grow_with_each_turn_by_all_its_steps(desk: Desk) -> None:
    for text in ("one", "two"):
        desk.say(text)
        taken = desk.take()
        desk.turns().step(
            taken.lease, 1, [], books=took(taken.lease, Usage(input=10, output=1, cache_read=4, cache_write=2))
        )
        desk.commit(taken, usage=Usage(input=5), context_tokens=15)

    row = desk.row()
    assert (row["inputTokens"], row["outputTokens"], row["cacheRead"], row["cacheWrite"]) == ("30", "2", "8", "4")
    assert (row["totalTokens"], row["turns"], row["contextTokens"]) == ("44", "2", "15")


def test_only_turns_of_people_keep_a_session_fresh(desk: Desk) -> None:
    desk.say("hi")
    desk.commit(desk.take())
    desk.redis.hset(desk.keys.row(SESSION), "lastInteractionAt", "123")
    desk.say("heartbeat", kind="internal")
    desk.commit(desk.take())
    assert desk.row()["lastInteractionAt"] == "123"

    desk.say("hi again")
    desk.commit(desk.take())
    assert int(desk.row()["lastInteractionAt"]) > 123


def test_a_failed_turn_says_so_of_its_messages(desk: Desk) -> None:
    desk.say("hi")
    taken = desk.take()

    desk.commit(taken, state=RunState.ERROR, reason="auth", messages=MessageState.FAILED, error="no key")

    assert (desk.receipt("hi").state, desk.receipt("hi").reason) == (MessageState.FAILED, "auth")
    assert desk.run(taken.lease.run).error == "no key"


def test_a_repeated_commit_gets_the_first_answer_and_changes_nothing(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two")
    first = desk.commit(taken, entries=[ANSWER], usage=Usage(input=5), next_run="run-next")

    again = desk.commit(taken, entries=[ANSWER], usage=Usage(input=5), next_run="run-other")

    assert again.next_run == first.next_run == "run-next"
    assert [entry.role for entry in desk.log()] == ["user", "assistant"]
    assert (desk.row()["turns"], desk.row()["inputTokens"]) == ("1", "5")
    assert desk.ctl("run") == "run-next"


def test_a_repeated_commit_of_a_finished_session_opens_nothing(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.commit(taken)

    assert desk.commit(taken).next_run is None
    assert desk.ctl("state") == "idle"


def test_a_worker_that_lost_the_session_cannot_commit(desk: Desk) -> None:
    desk.say("hi")
    slow = desk.take("w1")
    desk.crash()
    with pytest.raises(LeaseLost):
        desk.commit(slow, "too late", worker="w1", entries=[ANSWER])
    quick = desk.take("w2")
    with pytest.raises(LeaseLost):
        desk.commit(slow, "too late", worker="w1", entries=[ANSWER])
    desk.commit(quick, "in time", worker="w2", entries=[ANSWER])
    with pytest.raises(LeaseLost):
        desk.commit(slow, "too late", worker="w1", entries=[ANSWER])

    assert desk.run(slow.lease.run).text == "in time"
    assert [entry.role for entry in desk.log()] == ["user", "assistant"]
    assert desk.row()["turns"] == "1"


def test_waiting_messages_keep_the_session_scheduled_under_a_new_run(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two", mode=QueueMode.FOLLOWUP, debounce_ms=60_000)
    desk.say("three", mode=QueueMode.FOLLOWUP, debounce_ms=60_000)

    committed = desk.commit(taken, next_run="run-b")

    assert (committed.next_run, committed.delay_ms) == ("run-b", 0), "followup does not wait for quiet"
    assert (desk.ctl("state"), desk.ctl("attempt"), desk.ctl("step")) == ("queued", "1", "0")
    assert desk.run("run-b").state == "queued"
    desk.take()
    assert (desk.bound(), desk.waiting()) == (["two"], ["three"])


@pytest.mark.parametrize(
    ("waiting", "debounce_ms", "pushed", "to_publish"),
    [(True, 0, ["wake"], False), (True, 60_000, [], True), (False, 0, [], False)],
)
def test_the_next_wake_up_is_pushed_if_messages_wait_and_their_time_has_come(
    desk: Desk, waiting: bool, debounce_ms: int, pushed: list[str], to_publish: bool
) -> None:
    desk.say("one")
    taken = desk.take()
    if waiting:
        desk.say("two", debounce_ms=debounce_ms)

    committed = desk.commit(taken, wake="wake")

    assert desk.queue() == pushed
    assert (committed.next_run is not None) == to_publish
    again = desk.commit(taken, wake="wake")
    assert desk.queue() == pushed
    assert (again.next_run is not None) == waiting, "the first answer may be lost; one wake-up more costs nothing"


def test_collected_messages_wait_for_quiet_since_the_last_one(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two", debounce_ms=10_000)

    committed = desk.commit(taken)

    assert 9_000 < committed.delay_ms <= 10_000
    due = desk.due()
    assert due is not None
    assert 9_000 < due - desk.now() <= 10_000
    desk.redis.hset(desk.keys.ctl(SESSION), "ready_at", str(desk.now() + 3_000))
    desk.say("three", debounce_ms=10_000)
    assert 9_000 < int(desk.ctl("ready_at")) - desk.now() <= 10_000, "a newcomer begins the quiet anew"


def test_the_wait_for_quiet_ends_five_debounces_after_the_first_message(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("two", debounce_ms=10_000)
    (raw,) = map(str, desk.redis.zrange(desk.keys.inbox(SESSION), 0, 0))
    accepted_at = desk.inbox.waiting(SESSION)[0].accepted_at
    earlier = raw.replace(str(accepted_at), str(accepted_at - 49_000))
    desk.redis.zrem(desk.keys.inbox(SESSION), raw)
    desk.redis.zadd(desk.keys.inbox(SESSION), {earlier: 2})
    desk.say("three", debounce_ms=10_000)

    assert 0 < desk.commit(taken).delay_ms <= 1_000
    desk.say("four", debounce_ms=10_000)
    assert int(desk.ctl("ready_at")) - desk.now() <= 1_000


def test_a_command_at_the_head_does_not_wait_for_quiet(desk: Desk) -> None:
    desk.say("one")
    taken = desk.take()
    desk.say("/new", kind="command", debounce_ms=10_000)
    desk.say("two", debounce_ms=10_000)

    assert desk.commit(taken).delay_ms == 0


def test_a_reset_by_command_archives_and_goes_on_with_what_waits(desk: Desk) -> None:
    desk.say("old")
    desk.commit(desk.take())
    old = desk.row()["sessionId"]
    desk.say("/new", kind="command")
    taken = desk.take()
    desk.say("new")

    committed = desk.commit(taken, "New session.", reset=True, row={"modelOverride": "script"})

    assert committed.next_run is not None
    assert desk.log() == []
    assert desk.row()["sessionId"] != old
    assert desk.row()["modelOverride"] == "script"
    assert desk.row()["inputTokens"] == "0"
    assert len(desk.redis.hkeys(desk.keys.archives)) == 1
    desk.take()
    assert [texts(entry) for entry in desk.users()] == [["new"]]


def test_a_commit_frees_the_slot_and_grants_it_to_the_head_of_the_line(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=2)
    sessions = session_named("a", "b", "c", "d")
    for session in sessions:
        desk.say("hi", session=session)
    first, _ = desk.take(session=sessions[0]), desk.take(session=sessions[1])
    for session in sessions[2:]:
        assert desk.refused(session=session) == "lane"

    committed = desk.commit(first)

    assert committed.granted == ((desk.ctl("run", sessions[2]), sessions[2]),)
    assert desk.slots() == {sessions[1], sessions[2]}
    assert desk.line() == [sessions[3]]
    due = desk.due(f"turn|{sessions[2]}")
    assert due is not None
    assert due - desk.now() <= 4_000, "a grant that nobody uses is looked at soon"


def test_a_slot_is_freed_also_by_a_worker_that_knows_of_no_cap(make_desk: MakeDesk) -> None:
    """While a configuration without the cap is rolled out, and after it."""
    desk = make_desk(cap=1)
    first, second = session_named("a", "b")
    desk.say("hi", session=first)
    desk.say("hi", session=second)
    taken = desk.take(session=first)
    assert desk.refused(session=second) == "lane"
    desk.commit(taken)
    assert desk.slots() == {second}

    desk.cap = 0
    desk.commit(desk.take(session=second))

    assert desk.slots() == set()


def test_a_session_that_goes_on_returns_to_the_end_of_the_line(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    busy, other = session_named("busy", "other")
    desk.say("one", session=busy, mode=QueueMode.FOLLOWUP)
    desk.say("two", session=busy, mode=QueueMode.FOLLOWUP)
    desk.say("hi", session=other)
    taken = desk.take(session=busy)
    assert desk.refused(session=other) == "lane"

    desk.commit(taken)

    assert desk.refused(session=busy) == "lane"
    desk.take(session=other)


def test_a_released_turn_goes_on_elsewhere_without_an_attempt_charged(desk: Desk) -> None:
    desk.say("hi", run="run-a")
    taken = desk.take("w1")
    desk.turns().step(taken.lease, 1, [ANSWER], starting="call-1", books=took(taken.lease, Usage(input=3)))

    desk.turns("w1").release(taken.lease, books=took(taken.lease, Usage(input=4, output=1), 2))

    assert (desk.ctl("state"), desk.ctl("owner"), desk.run("run-a").state) == ("queued", "", "queued")
    assert desk.bound() == ["hi"]
    after = desk.take("w2")
    assert (after.attempt, after.resumed, after.step, after.started_call) == (1, True, 1, "call-1")
    assert [attempt.how for attempt in desk.run("run-a").attempts] == ["taken", "handover"]
    desk.commit(after, worker="w2", usage=Usage(input=1))
    assert desk.run("run-a").usage == Usage(input=8, output=1)
    with pytest.raises(LeaseLost):
        desk.commit(taken, "too late")


def test_a_repeated_release_gets_the_first_answer_and_counts_its_tokens_once(desk: Desk) -> None:
    desk.say("hi", run="run-a")
    taken = desk.take("w1")
    turns, books = desk.turns("w1"), took(taken.lease, Usage(input=4))

    assert turns.release(taken.lease, books=books) == (True, ())
    assert turns.release(taken.lease, books=books) == (True, ())

    assert desk.run("run-a").usage.input == 4
    assert desk.events().count("run.released") == 1
    after = desk.take("w2")
    turns.release(taken.lease)
    assert desk.ctl("lease") == after.lease.token, "a late repeat takes nothing from the next owner"


def test_a_worker_that_lost_the_session_cannot_release_it(desk: Desk) -> None:
    desk.say("hi")
    taken = desk.take("w1")
    desk.crash()
    desk.take("w2")

    with pytest.raises(LeaseLost):
        desk.turns("w1").release(taken.lease)
    assert (desk.ctl("state"), desk.ctl("owner")) == ("running", "w2")


def test_a_released_turn_keeps_its_place_in_the_lane(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second = session_named("a", "b")
    desk.say("hi", session=first)
    desk.say("hi", session=second)
    taken = desk.take("w1", session=first)
    assert desk.refused(session=second) == "lane"

    _, granted = desk.turns("w1").release(taken.lease)

    assert [session for _, session in granted] == [first], "its ticket is older than the other's"
    assert desk.refused(session=second) == "lane"
    desk.take("w2", session=first)


def test_a_suspect_that_commits_or_is_released_is_none_any_more(desk: Desk) -> None:
    desk.say("hi")
    desk.take("w1")
    desk.crash()
    second = desk.take("w2")
    assert desk.redis.hgetall(desk.keys.suspects) == {"w2": second.lease.run}
    desk.turns("w2").release(second.lease)
    assert desk.redis.hgetall(desk.keys.suspects) == {}
    third = desk.take("w3")
    desk.commit(third, worker="w3")
    assert desk.redis.hgetall(desk.keys.suspects) == {}
