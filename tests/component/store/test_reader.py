"""Reading back: damaged records are quarantined once, and the rest is still there."""

from __future__ import annotations

import time

import pytest
from redis.client import Pipeline
from redis.exceptions import ResponseError

from openclaw_workers.domain.ids import MessageId, RunId
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.transcript import TextBlock, UserEntry, dump_entry
from openclaw_workers.errors import CorruptRecord, StoreUnavailable
from openclaw_workers.store.quarantine import KEPT
from openclaw_workers.store.reader import PAGE
from tests.component.store.harness import SESSION, StoreHarness, session_named, texts


def test_a_damaged_transcript_entry_is_left_out_and_quarantined_once(store: StoreHarness) -> None:
    store.say("one")
    store.commit(store.take())
    store.redis.rpush(store.keys.log(SESSION), "{not json", '{"role": "wizard"}')
    store.say("two")
    store.take()

    for _ in range(2):
        assert [texts(entry) for entry in store.users()] == [["one"], ["two"]]
    notes = store.reader.quarantined()
    assert [note["raw"] for note in notes] == ['{"role": "wizard"}', "{not json"]
    assert {note["where"] for note in notes} == {f"transcript of {SESSION}"}


def test_pages_of_a_transcript_that_grows_hold_each_entry_once_and_pass_over_damaged_ones(store: StoreHarness) -> None:
    log = store.keys.log(SESSION)
    said = [dump_entry(UserEntry(content=[TextBlock(text=str(number))])) for number in range(3 * PAGE)]
    store.redis.rpush(log, *said[: PAGE // 2], *["{damaged"] * PAGE, *said[PAGE // 2 :])

    found: list[list[str]] = []
    for page in store.reader.pages_back(SESSION):
        found = [texts(entry) for entry in page if isinstance(entry, UserEntry)] + found
        store.redis.rpush(log, said[0])

    assert found == [[str(number)] for number in range(3 * PAGE)]


def test_a_damaged_row_or_run_does_not_hide_the_others(store: StoreHarness) -> None:
    good, bad = session_named("good", "bad")
    for session in (good, bad):
        store.say("hi", session=session, run=f"run-{session}")
    store.redis.hset(store.keys.row(bad), "createdAt", "yesterday")
    store.redis.hset(store.keys.run(f"run-{bad}"), "attempts", "[")

    assert [entry.session_key for entry in store.reader.sessions()] == [good]
    assert store.reader.session(bad) is None
    assert [run.session_key for run in store.reader.runs()] == [good]
    assert store.reader.run(RunId(f"run-{bad}")) is None
    assert len(store.reader.quarantined()) == 2


def test_a_row_or_run_of_the_wrong_type_does_not_hide_the_others(store: StoreHarness) -> None:
    good, bad = session_named("good", "bad")
    for session in (good, bad):
        store.say("hi", session=session, run=f"run-{session}")
    runs = [RunId(f"run-{session}") for session in (bad, good)]
    for key in (store.keys.row(bad), store.keys.run(runs[0])):
        store.redis.delete(key)
        store.redis.set(key, "junk")

    for _ in range(2):
        assert [entry.session_key for entry in store.reader.sessions()] == [good]
        assert [run.session_key for run in store.reader.runs()] == [good]
        assert [run.session_key for run in store.reader.some_runs(runs)] == [good]
    assert store.reader.unreadable == 2
    assert store.reader.session(bad) is None
    assert store.reader.run(runs[0]) is None
    assert {note["where"]: note["why"] for note in store.reader.quarantined()} == {
        f"session {bad}": f"{store.keys.row(bad)} holds another type than a hash",
        f"run run-{bad}": f"{store.keys.run(runs[0])} holds another type than a hash",
    }


def test_what_redis_refuses_for_another_reason_is_not_taken_for_damage(
    store: StoreHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> list[object]:
        return [ResponseError("LOADING Redis is loading the dataset in memory")]

    monkeypatch.setattr(Pipeline, "execute", refuse)
    with pytest.raises(StoreUnavailable):
        store.reader.session(SESSION)


def test_control_of_a_session_that_cannot_be_read_says_so(store: StoreHarness) -> None:
    store.say("one")
    for key in (store.keys.ctl(SESSION), store.keys.inbox(SESSION)):
        store.redis.delete(key)
        store.redis.set(key, "junk")

    control = store.reader.control(SESSION)

    assert (control.state, control.run, control.waiting) == ("unreadable", "", 0)
    assert [note["where"] for note in store.reader.quarantined()] == [f"session {SESSION}"]


@pytest.mark.parametrize(
    ("field", "value", "reported"),
    [
        ("attempts", "[", "attempts is not JSON: "),
        ("metadata", "[" * 100_000, "metadata is not JSON: "),
        ("usage_input", "many", "usage.input: Input should be a valid integer"),
        ("state", "asleep", "state: Input should be 'queued'"),
    ],
)
def test_a_note_names_the_field_at_fault_and_when_it_was_first_met(
    store: StoreHarness, field: str, value: str, reported: str
) -> None:
    store.say("hi", run="run-a")
    store.redis.hset(store.keys.run("run-a"), field, value)
    before = int(time.time() * 1000)

    store.reader.run(RunId("run-a"))
    (first,) = store.reader.quarantined()
    time.sleep(0.005)
    store.reader.run(RunId("run-a"))

    assert store.reader.quarantined() == [first]
    assert first["why"].startswith(reported)
    assert first["at"] is not None
    assert before <= first["at"] <= int(time.time() * 1000)


def test_no_more_is_kept_than_the_newest_notes(store: StoreHarness) -> None:
    for number in range(KEPT + 10):
        store.reader.quarantine(str(number), "because", "")

    notes = store.reader.quarantined()

    assert [note["where"] for note in notes] == [str(number) for number in range(KEPT + 9, 9, -1)]
    assert store.redis.zcard(store.keys.quarantine_times) == KEPT


def test_what_is_not_there_reads_as_nothing(store: StoreHarness) -> None:
    assert store.reader.session(SESSION) is None
    assert store.reader.run(RunId("run-x")) is None
    assert store.reader.transcript(SESSION) == []
    assert store.reader.events(SESSION, "0") == []
    assert store.reader.last_event_id(SESSION) == "0"
    control = store.reader.control(SESSION)
    assert (control.state, control.run, control.waiting) == ("idle", "", 0)
    assert store.redis.keys("*") == []


def test_events_are_read_from_where_one_left_off(store: StoreHarness) -> None:
    store.say("one")
    seen = store.reader.last_event_id(SESSION)
    store.take()

    (event,) = store.reader.events(SESSION, seen)
    assert (event.type, event.seq, event.data["worker"], event.data["covers"]) == ("run.started", 2, "w1", ["one"])


def test_control_tells_who_owns_a_session_and_what_waits(store: StoreHarness) -> None:
    store.say("one", run="run-a")
    store.take("w1")
    store.say("two")

    control = store.reader.control(SESSION)
    assert (control.state, control.run, control.owner, control.waiting) == ("running", "run-a", "w1", 1)
    assert control.lease_until > store.now()


def test_a_damaged_receipt_is_reported_and_quarantined_once(store: StoreHarness) -> None:
    store.say("one")
    store.redis.hset(store.keys.receipts(SESSION), "one", "{half")

    for look in (lambda: store.inbox.receipt(SESSION, MessageId("one")), lambda: store.say("one")):
        with pytest.raises(CorruptRecord, match="the receipt of one in agent:main:main cannot be read"):
            look()

    assert [note["raw"] for note in store.reader.quarantined()] == ["{half"]


def test_a_damaged_old_receipt_keeps_no_new_message_out(store: StoreHarness) -> None:
    old = {f"old-{n}": n for n in range(2_005)}
    store.say("one")
    store.redis.hset(store.keys.receipts(SESSION), mapping=dict.fromkeys(old, "{half"))
    store.redis.zadd(store.keys.settled_receipts(SESSION), old)

    store.say("two")
    store.say("three", mode=QueueMode.REJECT)

    assert store.waiting() == ["one", "two"]
    assert store.redis.hlen(store.keys.receipts(SESSION)) <= 2_002


def test_a_session_that_is_used_while_one_reads_brings_none_twice(store: StoreHarness) -> None:
    keys = session_named("a", "b", "c", "d")
    for number, key in enumerate(keys):
        store.say("hello", session=key, id=key)
        store.redis.zadd(store.keys.sessions, {key: number + 1})

    read = []
    for entry in store.reader.each_session(page=2):
        read.append(entry.session_key)
        if len(read) == 2:
            store.redis.zadd(store.keys.sessions, {keys[0]: 9})

    assert sorted(read) == sorted(set(read))
