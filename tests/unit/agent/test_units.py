"""Splitting: nothing is lost, and no call is torn from its results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.context.history import estimate_tokens, repair
from openclaw_workers.agent.context.units import split_by_token_share, units
from openclaw_workers.domain.transcript import TranscriptEntry
from tests.unit.agent.entries import ENTRIES, assistant, is_valid, result, transcripts, user


def flat(parts: list[list[TranscriptEntry]]) -> list[TranscriptEntry]:
    return [entry for part in parts for entry in part]


@given(ENTRIES)
def test_units_joined_are_the_conversation(entries: list[TranscriptEntry]) -> None:
    assert flat(units(entries)) == entries
    assert all(units(entries))


@given(ENTRIES, st.data())
def test_a_cut_between_units_separates_no_call_from_its_result(
    entries: list[TranscriptEntry], data: st.DataObject
) -> None:
    parts = units(entries)
    cut = data.draw(st.integers(0, len(parts)))

    before, after = flat(parts[:cut]), flat(parts[cut:])

    # Repaired apart or together, the model sees the same: no result was lost and none had to be made up.
    assert repair(before) + repair(after) == repair(entries)


@given(transcripts())
def test_a_unit_of_a_valid_transcript_is_valid_by_itself(entries: list[TranscriptEntry]) -> None:
    assert all(is_valid(unit) for unit in units(entries)[:-1])


def test_a_message_steered_in_between_results_stays_with_them() -> None:
    together: list[TranscriptEntry] = [assistant("", "a", "b"), result("a"), user("wait"), result("b")]
    assert units([user(), *together, user("next")]) == [[user()], together, [user("next")]]


@given(st.lists(st.integers(0, 50)), st.integers(1, 6))
def test_parts_are_in_order_whole_and_no_more_than_asked_for(sizes: list[int], parts: int) -> None:
    split = split_by_token_share(sizes, parts, lambda size: size)

    assert [size for part in split for size in part] == sizes
    assert len(split) <= parts
    assert all(split)


@given(st.lists(st.integers(1, 50), min_size=2), st.integers(2, 6))
def test_parts_are_of_about_equal_size(sizes: list[int], parts: int) -> None:
    split = split_by_token_share(sizes, parts, lambda size: size)

    assert len(split) > 1, "two pieces can always be separated"
    assert max(map(sum, split[:-1])) <= sum(sizes) / parts + max(sizes)


@given(transcripts())
def test_half_of_a_conversation_is_about_half_of_its_tokens(entries: list[TranscriptEntry]) -> None:
    pieces = units(entries)

    def tokens(unit: list[TranscriptEntry]) -> int:
        return sum(map(estimate_tokens, unit))

    first = split_by_token_share(pieces, 2, tokens)[0]
    assert abs(sum(map(tokens, first)) - sum(map(tokens, pieces)) / 2) <= max(map(tokens, pieces))
