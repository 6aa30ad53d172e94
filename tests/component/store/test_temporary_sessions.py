"""Sessions that begin with a given transcript and go by themselves."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, TranscriptEntry, UserEntry
from openclaw_workers.errors import StoreFull
from tests.component.store.harness import StoreHarness

KEY = SessionKey("agent:main:openai:1")
HOUR_MS = 3_600_000
EARLIER: list[TranscriptEntry] = [
    UserEntry(content=[TextBlock(text="my name is Ada")]),
    AssistantEntry(content=[TextBlock(text="hello Ada")]),
]


def create(store: StoreHarness, entries: list[TranscriptEntry] = EARLIER) -> bool:
    return store.sessions.create_temporary(KEY, entries, row={"sessionKind": "main"}, keep_seconds=3600)


def test_a_turn_reads_the_given_transcript_before_its_message(store: StoreHarness) -> None:
    assert create(store)
    store.say("what is my name?", session=KEY)

    taken = store.take(session=KEY)

    texts = [entry.content[0].text for entry in store.reader.transcript(KEY)]  # type: ignore[union-attr]
    assert texts == ["my name is Ada", "hello Ada", "what is my name?"]
    assert taken.log_length == 3


def test_a_repeat_and_an_existing_session_change_nothing(store: StoreHarness) -> None:
    assert create(store)
    before = store.row(KEY)

    assert not create(store, [])

    assert store.row(KEY) == before
    assert len(store.reader.transcript(KEY)) == 2


def test_it_is_due_for_deletion_from_the_start(store: StoreHarness) -> None:
    before = store.now()
    create(store)

    due_at = store.redis.zscore(store.keys.due, f"cleanup|{KEY}")

    assert due_at is not None
    assert before + HOUR_MS <= due_at <= store.now() + HOUR_MS
    row = store.reader.session(KEY)
    assert row is not None
    assert row.transient
    assert row.archive_after_ms == HOUR_MS


def test_deleting_it_leaves_no_archive(store: StoreHarness) -> None:
    create(store)

    assert store.sessions.delete(KEY, Lane.MAIN, cap=0)

    assert store.redis.hlen(store.keys.archives) == 0
    assert not store.redis.exists(store.keys.log(KEY), store.keys.row(KEY))


def test_a_nearly_full_redis_takes_none(store: StoreHarness) -> None:
    store.redis.hset(store.keys.memory, mapping={"high": 1, "percent": 93, "at": store.now()})

    with pytest.raises(StoreFull):
        create(store)

    assert not store.redis.exists(store.keys.row(KEY))
