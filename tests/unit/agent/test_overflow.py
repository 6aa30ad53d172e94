"""Overflow: each remedy in its turn, and an end to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.context.history import estimate_tokens
from openclaw_workers.agent.context.overflow import LEAST_CHARS, Recovery, Step, cut_results, too_large
from openclaw_workers.domain.transcript import ToolResultEntry, TranscriptEntry
from openclaw_workers.domain.untrusted import CLOSE, opening_marker, wrap
from openclaw_workers.errors import FailureReason
from tests.unit.agent.entries import assistant, is_valid, result, user


def steps(*can_compact: bool) -> list[Step]:
    recovery, taken = Recovery(), []
    for can in can_compact:
        step, recovery = recovery.overflowed(can_compact=can)
        taken.append(step)
    return taken


def test_overflow_leads_to_compaction_then_cutting_then_giving_up() -> None:
    assert steps(True, True, True, True) == [Step.COMPACT, Step.COMPACT, Step.TRUNCATE, Step.GIVE_UP]


def test_a_futile_compaction_is_followed_by_cutting() -> None:
    assert steps(True, False, True) == [Step.COMPACT, Step.TRUNCATE, Step.GIVE_UP]
    assert steps(False, False) == [Step.TRUNCATE, Step.GIVE_UP]


@given(st.lists(st.booleans(), min_size=4))
def test_a_turn_always_gives_up_in_the_end(can_compact: list[bool]) -> None:
    taken = steps(*can_compact)
    first = taken.index(Step.GIVE_UP)
    assert first <= 3
    assert set(taken[first:]) == {Step.GIVE_UP}
    assert taken.count(Step.TRUNCATE) == 1


def test_the_error_says_how_much_and_what_to_do() -> None:
    error = too_large(12_000, 8_000)
    assert error.reason is FailureReason.CONTEXT_OVERFLOW
    assert "12,000 of 8,000 tokens" in error.message
    assert "/new" in (error.hint or "")


def with_results(*sizes: int) -> list[TranscriptEntry]:
    calls = [f"c{n}" for n in range(len(sizes))]
    return [user(), assistant("", *calls), *(result(c, "x" * size) for c, size in zip(calls, sizes, strict=True))]


def test_a_single_result_never_takes_more_than_half_of_the_window() -> None:
    entries = with_results(100_000, 400)

    shown = cut_results(entries, 10**9, 10_000, estimate_tokens)

    assert estimate_tokens(shown[2]) <= 5000
    assert isinstance(shown[2], ToolResultEntry)
    assert "trimmed: 100,000" in shown[2].content[0].text
    assert shown[3] is entries[3]


def test_a_cut_result_stays_quoted() -> None:
    entries: list[TranscriptEntry] = [user(), assistant("", "c"), result("c", wrap("x" * 100_000, "tool read"))]

    cut = cut_results(entries, 6_000, 10_000, estimate_tokens)[2]

    assert isinstance(cut, ToolResultEntry)
    assert cut.content[0].text.startswith(opening_marker("tool read"))
    assert cut.content[0].text.endswith(CLOSE)


def test_results_are_cut_until_all_fit_the_largest_first() -> None:
    entries = with_results(40_000, 20_000, 3_000)

    shown = cut_results(entries, 6_000, 20_000, estimate_tokens)

    assert sum(map(estimate_tokens, shown)) <= 6_000
    assert shown[4] is entries[4], "a small one is not made to pay for the others"


@given(st.lists(st.integers(0, 50_000), max_size=6), st.integers(0, 20_000), st.integers(1, 50_000))
def test_cutting_keeps_the_sequence_and_a_useful_minimum(sizes: list[int], budget: int, window: int) -> None:
    entries = with_results(*sizes)
    shown = cut_results(entries, budget, window, estimate_tokens)

    assert is_valid(shown)
    assert shown[:2] == entries[:2]
    for old, new in zip(entries[2:], shown[2:], strict=True):
        assert isinstance(old, ToolResultEntry)
        assert isinstance(new, ToolResultEntry)
        assert min(LEAST_CHARS, len(old.content[0].text)) <= len(new.content[0].text) <= len(old.content[0].text)
    fits = sum(map(estimate_tokens, shown)) <= budget
    assert fits or all(len(e.content[0].text) <= LEAST_CHARS for e in shown if isinstance(e, ToolResultEntry))
