"""Answers of Redis are short, however much is stored: it serves nobody else while it writes a long one."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from openclaw_workers.domain.transcript import TextBlock, UserEntry, dump_entry
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.store import client as connection
from tests.component.store.harness import SESSION, StoreHarness

LARGE = 100_000
MOST = 512 * 1024 + 2 * LARGE


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of all answers from now on."""
    sizes, exchange = list[int](), connection._exchange

    def measured(*call: Any) -> Any:
        answer = exchange(*call)
        sizes.append(_size(answer))
        return answer

    monkeypatch.setattr(connection, "_exchange", measured)
    return sizes


def _size(answer: Any) -> int:
    return sum(map(_size, answer)) if isinstance(answer, list) else len(str(answer))


def write(store: StoreHarness, first: int, last: int) -> None:
    entries = [UserEntry(content=[TextBlock(text=f"{number} ".ljust(LARGE))]) for number in range(first, last)]
    for entry in entries:
        store.redis.rpush(store.keys.log(SESSION), dump_entry(entry))


def numbers(entries: Any) -> list[str]:
    return [entry.content[0].text.split()[0] for entry in entries]


def test_a_take_returns_as_much_of_a_large_transcript_as_fits(store: StoreHarness, sizes: list[int]) -> None:
    store.say("first")
    store.commit(store.take())
    write(store, 0, 60)
    store.say("last")
    sizes.clear()

    taken = store.take()

    assert max(sizes) < MOST
    assert taken.log_length == 62
    assert numbers(TranscriptCache(store.reader).load(taken, None)) == ["first", *map(str, range(60)), "last"]
    assert max(sizes) < MOST, "and the rest is read in portions"


# On a real Redis only: the in-memory one has no redis.sha1hex, by which a known transcript is recognised.
@pytest.mark.parametrize("redis", ["real"], indirect=True)
def test_what_came_since_is_added_to_what_is_known_though_it_does_not_fit_into_an_answer(
    store: StoreHarness, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = TranscriptCache(store.reader)
    store.say("first")
    taken = store.take()
    histories.load(taken, None)
    store.commit(taken)
    write(store, 0, 20)
    store.say("last")
    transcript = Mock(wraps=store.reader.transcript)
    monkeypatch.setattr(store.reader, "transcript", transcript)

    taken = store.take(known=histories.known(SESSION))
    entries = histories.load(taken, None)

    assert numbers(entries) == ["first", *map(str, range(20)), "last"]
    assert max(sizes) < MOST
    assert [call.args[1] for call in transcript.call_args_list] == [1], "what is known is not read again"


def test_every_reader_of_a_large_transcript_gets_it_in_portions(store: StoreHarness, sizes: list[int]) -> None:
    store.say("first")
    store.commit(store.take())
    write(store, 0, 30)
    expected = ["first", *map(str, range(30))]
    sizes.clear()

    assert numbers(store.reader.transcript(SESSION)) == expected
    assert numbers(store.reader.transcript(SESSION, -20, -1)) == expected[-20:]
    assert numbers(store.reader.transcript(SESSION, 3, 17)) == expected[3:18]
    assert numbers(store.reader.transcript(SESSION, 0, 400)) == expected
    assert store.reader.transcript(SESSION, 31, 40) == []
    assert len(store.reader.raw_transcript(SESSION)[0]) == 31
    assert sum(len(page) for page in store.reader.pages_back(SESSION)) == 31
    assert len(sizes) > 20
    assert max(sizes) < MOST


def test_a_transcript_of_many_small_entries_is_read_too(store: StoreHarness) -> None:
    entry = dump_entry(UserEntry(content=[TextBlock(text="x")]))
    store.redis.rpush(store.keys.log(SESSION), *[entry] * 10_000)

    assert len(store.reader.transcript(SESSION)) == 10_000


def test_messages_are_collected_up_to_the_size_of_one(store: StoreHarness, sizes: list[int]) -> None:
    store.say("go")
    taken = store.take()
    for number in range(5):
        store.say(f"{number} ".ljust(400_000), id=f"m{number}")
    store.commit(taken)

    bound = []
    while store.waiting():
        taken = store.take()
        bound.append(store.bound())
        store.commit(taken)

    assert bound == [["m0", "m1"], ["m2", "m3"], ["m4"]]
