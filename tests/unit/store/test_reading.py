"""Reading back: damaged records are set aside once, and the rest is still there."""

from __future__ import annotations

import time

import pytest
from redis.client import Pipeline
from redis.exceptions import ResponseError

from openclaw_workers.errors import CorruptRecord, StoreUnavailable
from openclaw_workers.models.ids import MessageId, RunId
from openclaw_workers.models.transcript import TextBlock, UserEntry, dump_entry
from openclaw_workers.store.quarantine import KEPT
from openclaw_workers.store.reading import PAGE
from tests.unit.store.desk import SESSION, Desk, session_named, texts


def test_a_damaged_transcript_entry_is_left_out_and_quarantined_once(desk: Desk) -> None:
    desk.say("one")
    desk.commit(desk.take())
    desk.redis.rpush(desk.keys.log(SESSION), "{not json", '{"role": "wizard"}')
    desk.say("two")
    desk.take()

    for _ in range(2):
        assert [texts(entry) for entry in desk.users()] == [["one"], ["two"]]
    notes = desk.reader.quarantined()
    assert [note["raw"] for note in notes] == ['{"role": "wizard"}', "{not json"]
    assert {note["where"] for note in notes} == {f"transcript of {SESSION}"}


def test_pages_of_a_transcript_that_grows_hold_each_entry_once_and_pass_over_damaged_ones(desk: Desk) -> None:
    log = desk.keys.log(SESSION)
    said = [dump_entry(UserEntry(content=[TextBlock(text=str(number))])) for number in range(3 * PAGE)]
    desk.redis.rpush(log, *said[: PAGE // 2], *["{damaged"] * PAGE, *said[PAGE // 2 :])

    found: list[list[str]] = []
    for page in desk.reader.pages_back(SESSION):
        found = [texts(entry) for entry in page if isinstance(entry, UserEntry)] + found
        desk.redis.rpush(log, said[0])

    assert found == [[str(number)] for number in range(3 * PAGE)]


def test_a_damaged_row_or_run_does_not_hide_the_others(desk: Desk) -> None:
    good, bad = session_named("good", "bad")
    for session in (good, bad):
        desk.say("hi", session=session, run=f"run-{session}")
    desk.redis.hset(desk.keys.row(bad), "createdAt", "yesterday")
    desk.redis.hset(desk.keys.run(f"run-{bad}"), "attempts", "[")

    assert [entry.session_key for entry in desk.reader.sessions()] == [good]
    assert desk.reader.session(bad) is None
    assert [run.session_key for run in desk.reader.runs()] == [good]
    assert desk.reader.run(RunId(f"run-{bad}")) is None
    assert len(desk.reader.quarantined()) == 2


def test_a_row_or_run_of_the_wrong_type_does_not_hide_the_others(desk: Desk) -> None:
    good, bad = session_named("good", "bad")
    for session in (good, bad):
        desk.say("hi", session=session, run=f"run-{session}")
    runs = [RunId(f"run-{session}") for session in (bad, good)]
    for key in (desk.keys.row(bad), desk.keys.run(runs[0])):
        desk.redis.delete(key)
        desk.redis.set(key, "junk")

    for _ in range(2):
        assert [entry.session_key for entry in desk.reader.sessions()] == [good]
        assert [run.session_key for run in desk.reader.runs()] == [good]
        assert [run.session_key for run in desk.reader.some_runs(runs)] == [good]
    assert desk.reader.unreadable == 2
    assert desk.reader.session(bad) is None
    assert desk.reader.run(runs[0]) is None
    assert {note["where"]: note["why"] for note in desk.reader.quarantined()} == {
        f"session {bad}": f"{desk.keys.row(bad)} holds another type than a hash",
        f"run run-{bad}": f"{desk.keys.run(runs[0])} holds another type than a hash",
    }


def test_what_redis_refuses_for_another_reason_is_not_taken_for_damage(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> list[object]:
        return [ResponseError("LOADING Redis is loading the dataset in memory")]

    monkeypatch.setattr(Pipeline, "execute", refuse)
    with pytest.raises(StoreUnavailable):
        desk.reader.session(SESSION)


def test_control_of_a_session_that_cannot_be_read_says_so(desk: Desk) -> None:
    desk.say("one")
    for key in (desk.keys.ctl(SESSION), desk.keys.inbox(SESSION)):
        desk.redis.delete(key)
        desk.redis.set(key, "junk")

    control = desk.reader.control(SESSION)

    assert (control.state, control.run, control.waiting) == ("unreadable", "", 0)
    assert [note["where"] for note in desk.reader.quarantined()] == [f"session {SESSION}"]


def test_a_damaged_note_is_told_of_like_what_it_was_about(desk: Desk) -> None:
    desk.reader.quarantine("here", "because", "raw")
    desk.redis.lpush(desk.keys.quarantine, "{half a note", "[]", "3", '{"where": "x"}', "[" * 100_000)

    *damaged, whole = desk.reader.quarantined()

    assert whole["where"] == "here"
    assert [note["where"] for note in damaged] == ["quarantine"] * 5
    assert damaged[-1]["raw"] == "{half a note"


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("attempts", "[", "attempts is not JSON: "),
        ("metadata", "[" * 100_000, "metadata is not JSON: "),
        ("usage_input", "many", "usage.input: Input should be a valid integer"),
        ("state", "asleep", "state: Input should be 'queued'"),
    ],
)
def test_a_note_names_the_field_at_fault_and_when_it_was_first_met(
    desk: Desk, field: str, value: str, told: str
) -> None:
    desk.say("hi", run="run-a")
    desk.redis.hset(desk.keys.run("run-a"), field, value)
    before = int(time.time() * 1000)

    desk.reader.run(RunId("run-a"))
    (first,) = desk.reader.quarantined()
    time.sleep(0.005)
    desk.reader.run(RunId("run-a"))

    assert desk.reader.quarantined() == [first]
    assert first["why"].startswith(told)
    assert first["at"] is not None
    assert before <= first["at"] <= int(time.time() * 1000)


def test_no_more_is_kept_than_the_newest_notes(desk: Desk) -> None:
    for number in range(KEPT + 10):
        desk.reader.quarantine(str(number), "because", "")

    notes = desk.reader.quarantined()

    assert [note["where"] for note in notes] == [str(number) for number in range(KEPT + 9, 9, -1)]
    assert desk.redis.zcard(desk.keys.quarantine_times) == KEPT


def test_a_quarantine_of_the_wrong_type_makes_room_for_one(desk: Desk) -> None:
    for key in (desk.keys.quarantine, desk.keys.quarantine_times):
        desk.redis.set(key, "junk")
    assert desk.reader.quarantined() == []

    for _ in range(2):
        desk.reader.quarantine("here", "because", "raw")

    assert [note["where"] for note in desk.reader.quarantined()] == ["here"]
    kept = desk.redis.keys(desk.keys.damaged("*"))
    assert [desk.redis.get(key) for key in kept] == ["junk", "junk"]
    assert all(desk.redis.ttl(key) > 0 for key in kept)


def test_what_is_not_there_reads_as_nothing(desk: Desk) -> None:
    assert desk.reader.session(SESSION) is None
    assert desk.reader.run(RunId("run-x")) is None
    assert desk.reader.transcript(SESSION) == []
    assert desk.reader.events(SESSION, "0") == []
    assert desk.reader.last_event_id(SESSION) == "0"
    control = desk.reader.control(SESSION)
    assert (control.state, control.run, control.waiting) == ("idle", "", 0)
    assert desk.redis.keys("*") == []


def test_events_are_read_from_where_one_left_off(desk: Desk) -> None:
    desk.say("one")
    seen = desk.reader.last_event_id(SESSION)
    desk.take()

    (event,) = desk.reader.events(SESSION, seen)
    assert (event.type, event.seq, event.data["worker"], event.data["covers"]) == ("run.started", 2, "w1", ["one"])


def test_control_tells_who_owns_a_session_and_what_waits(desk: Desk) -> None:
    desk.say("one", run="run-a")
    desk.take("w1")
    desk.say("two")

    control = desk.reader.control(SESSION)
    assert (control.state, control.run, control.owner, control.waiting) == ("running", "run-a", "w1", 1)
    assert control.lease_until > desk.now()


def test_a_damaged_receipt_is_told_and_quarantined_once(desk: Desk) -> None:
    desk.say("one")
    desk.redis.hset(desk.keys.receipts(SESSION), "one", "{half")

    for look in (lambda: desk.inbox.receipt(SESSION, MessageId("one")), lambda: desk.say("one")):
        with pytest.raises(CorruptRecord, match="the receipt of one in agent:main:main cannot be read"):
            look()

    assert [note["raw"] for note in desk.reader.quarantined()] == ["{half"]


def test_a_damaged_old_receipt_keeps_no_new_message_out(desk: Desk) -> None:
    old = {f"old-{n}": n for n in range(2_005)}
    desk.say("one")
    desk.redis.hset(desk.keys.receipts(SESSION), mapping=dict.fromkeys(old, "{half"))
    desk.redis.zadd(desk.keys.ages(SESSION), old)

    desk.say("two")

    assert desk.waiting() == ["one", "two"]
    assert desk.redis.hlen(desk.keys.receipts(SESSION)) <= 2_000


def test_a_session_that_is_used_while_one_reads_brings_none_twice(desk: Desk) -> None:
    keys = session_named("a", "b", "c", "d")
    for number, key in enumerate(keys):
        desk.say("hello", session=key, id=key)
        desk.redis.zadd(desk.keys.sessions, {key: number + 1})

    read = []
    for entry in desk.reader.each_session(page=2):
        read.append(entry.session_key)
        if len(read) == 2:
            desk.redis.zadd(desk.keys.sessions, {keys[0]: 9})

    assert sorted(read) == sorted(set(read))
