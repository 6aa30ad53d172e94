"""The limiter that all tools share: it never returns more than it was told, and says what is missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.tools.output_limit import HeadAndTail, LimitedLines, limit_text, shorten_line

NOTE_BYTES = 60


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(2, 200))
def test_a_stream_keeps_its_start_and_its_end(chunks: list[bytes], max_bytes: int) -> None:
    kept, whole = HeadAndTail(max_bytes), b"".join(chunks)
    for chunk in chunks:
        kept.add(chunk)
    text = kept.text()
    assert len(text.encode()) <= max_bytes + NOTE_BYTES
    if len(whole) <= max_bytes // 2 * 2:
        assert text == whole.decode(errors="replace").replace("\ufffd", "?")
    else:
        assert "bytes left out here" in text


@given(st.text(max_size=400), st.integers(4, 200))
def test_a_text_within_the_limit_is_unchanged_and_a_longer_one_is_cut(text: str, max_bytes: int) -> None:
    limited = limit_text(text, max_bytes)
    if len(text.encode(errors="replace")) <= max_bytes:
        assert limited == text
    else:
        assert len(limited.encode()) <= max_bytes + NOTE_BYTES
        assert "bytes left out here" in limited


@given(st.lists(st.text(alphabet="ab雪", max_size=20), max_size=30), st.integers(1, 10), st.integers(1, 100))
def test_lines_are_kept_up_to_both_limits(lines: list[str], max_lines: int, max_bytes: int) -> None:
    kept = LimitedLines(max_lines, max_bytes)
    kept.add_all(lines)
    assert kept.lines == lines[: len(kept.lines)]
    assert len(kept.lines) <= max_lines
    assert sum(len(line.encode()) + 1 for line in kept.lines) <= max_bytes
    assert kept.is_full == (len(kept.lines) < len(lines))


def test_lines_that_belong_together_are_added_together() -> None:
    kept = LimitedLines(3)
    assert kept.add("a", "b")
    assert not kept.add("c", "d")
    assert kept.lines == ["a", "b"]


def test_a_long_line_is_cut_visibly() -> None:
    assert shorten_line("x" * 10, 10) == "x" * 10
    assert shorten_line("x" * 1010, 10) == f"{'x' * 10} [... 1,000 more characters]"
