"""Cutting text into chunks."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.memory.chunks import Turn, chunk_markdown, chunk_turns, tokens_of


def test_a_chunk_ends_on_a_line_and_overlaps_the_next() -> None:
    text = "\n".join(f"line {number:03} " + "x" * 30 for number in range(100))
    chunks = chunk_markdown(text, tokens=100, overlap=25)

    assert all(tokens_of(chunk.text) <= 110 for chunk in chunks)
    assert [chunk.text.splitlines()[0] for chunk in chunks] == [
        text.splitlines()[each.start_line - 1] for each in chunks
    ]
    assert all(later.start_line <= earlier.end_line for earlier, later in pairwise(chunks))
    assert (chunks[0].start_line, chunks[-1].end_line) == (1, 100)


def test_headings_stay_with_their_text() -> None:
    body = "\n".join(f"word {number} of the part" for number in range(40))
    text = f"# Book\n\n## One\n\n{body}\n\n## Two\n\n{body}\n"
    chunks = chunk_markdown(text, tokens=120, overlap=0)

    assert not any(chunk.text.rstrip().splitlines()[-1].startswith("#") for chunk in chunks)
    last = chunks[-1]
    assert last.heading == "# Book\n## Two"
    assert last.searched.startswith("# Book\n## Two\nword")


def test_a_comment_in_code_is_no_heading() -> None:
    chunks = chunk_markdown("```\n# not a heading\n```\n" + "text\n" * 50, tokens=20, overlap=0)
    assert chunks[-1].heading == ""


def test_a_long_line_is_split_and_wide_characters_count_one_each() -> None:
    chunks = chunk_markdown("长" * 900, tokens=400, overlap=80)

    assert [len(chunk.text) for chunk in chunks] == [400, 400, 100]
    assert {(chunk.start_line, chunk.end_line) for chunk in chunks} == {(1, 1)}


def test_each_message_is_a_chunk_that_knows_the_one_before() -> None:
    chunks = chunk_turns([Turn("User: where?", 2), Turn("Assistant: here", 3)], tokens=400, before="User: hi")
    assert [(chunk.text, chunk.neighbour) for chunk in chunks] == [
        ("User: where?", "User: hi"),
        ("Assistant: here", "User: where?"),
    ]


def test_a_message_knows_its_day_in_the_users_zone() -> None:
    before_midnight = int(datetime(2026, 5, 8, 23, 30, tzinfo=UTC).timestamp() * 1000)
    turns = [Turn("User: see you", 2, before_midnight), Turn("User: no time", 3)]

    assert [each.day for each in chunk_turns(turns, tokens=400)] == ["8 May 2026 2026-05-08", ""]
    there = chunk_turns(turns, tokens=400, zone=ZoneInfo("Asia/Tokyo"))
    assert there[0].day == "9 May 2026 2026-05-09"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=40), st.integers(5, 60))
def test_nothing_is_lost(lines: list[str], tokens: int) -> None:
    text = "\n".join(lines)
    chunks = chunk_markdown(text, tokens=tokens, overlap=tokens // 5)
    seen = "".join(chunk.text for chunk in chunks)

    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            assert any(chunk.start_line <= number <= chunk.end_line for chunk in chunks)
            assert line[:3].strip() in seen
