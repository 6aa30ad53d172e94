"""What the model sees of a transcript: always a valid sequence, the newest part, never without the question."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.context.history import (
    estimate_tokens,
    fit,
    open_calls,
    reaches_back,
    repair,
    result_for,
    visible,
)
from openclaw_workers.agent.prompt.texts import MISSING_RESULT, UNANSWERED
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    CompactionEntry,
    NoticeEntry,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
    dump_entry,
    load_entry,
)
from tests.unit.agent.entries import ENTRIES, assistant, is_valid, result, transcripts, user


@given(ENTRIES)
def test_the_model_sees_a_valid_sequence_for_any_log(entries: list[TranscriptEntry]) -> None:
    repaired = repair(entries)

    assert is_valid(repaired)
    kept = (UserEntry, AssistantEntry)
    assert [e for e in repaired if isinstance(e, kept)] == [e for e in entries if isinstance(e, kept)]
    assert repair(repaired) == repaired


@given(ENTRIES, st.integers(0, 300))
def test_fitting_and_repairing_give_a_valid_sequence_for_any_budget(
    entries: list[TranscriptEntry], budget: int
) -> None:
    assert is_valid(repair(fit(entries, budget)))


@given(transcripts())
def test_a_valid_transcript_is_unchanged(entries: list[TranscriptEntry]) -> None:
    assert repair(entries, keep_open_tail=True) == entries


@given(transcripts())
def test_open_calls_are_those_of_the_last_assistant_without_a_result(entries: list[TranscriptEntry]) -> None:
    calls = open_calls(entries)

    closed = [*entries, *(result_for(call, "now done") for call in calls)]
    assert is_valid(repair(entries, keep_open_tail=True)) == (not calls)
    assert is_valid(closed)
    assert open_calls(closed) == []
    assert closed == repair(closed)


@given(transcripts(), st.integers(0, 2_000))
def test_fit_keeps_the_newest_part_from_a_user_message_on(entries: list[TranscriptEntry], budget: int) -> None:
    fitted = fit(entries, budget)

    assert fitted == entries[len(entries) - len(fitted) :]
    assert isinstance(fitted[0], UserEntry)
    last_question = max(index for index, entry in enumerate(entries) if isinstance(entry, UserEntry))
    assert len(fitted) >= len(entries) - last_question, "the last question and what follows it are never left out"
    if len(fitted) > len(entries) - last_question:
        assert sum(map(estimate_tokens, fitted)) <= budget


@given(transcripts())
def test_fit_leaves_out_nothing_that_fits(entries: list[TranscriptEntry]) -> None:
    assert fit(entries, sum(map(estimate_tokens, entries))) == entries


def test_a_call_without_a_result_gets_a_placeholder() -> None:
    repaired = repair([user(), assistant("", "a", "b"), result("b"), user("next")])

    assert [type(entry).__name__ for entry in repaired] == [
        "UserEntry",
        "AssistantEntry",
        "ToolResultEntry",
        "ToolResultEntry",
        "UserEntry",
    ]
    missing = repaired[2]
    assert isinstance(missing, ToolResultEntry)
    assert (missing.tool_call_id, missing.content[0].text, missing.is_error) == ("a", MISSING_RESULT, True)


@pytest.mark.parametrize(
    ("level", "answered", "marked"),
    [("warning", False, True), ("error", False, True), ("info", False, False), ("warning", True, False)],
)
def test_an_unanswered_request_of_an_ended_turn_is_marked(
    level: Literal["info", "warning", "error"], answered: bool, marked: bool
) -> None:
    asked, ended, after = user("delete it all"), NoticeEntry(text="stopped", level=level, run_id="run-1"), user("hello")
    asked.run_id, after.run_id = "run-1", "run-2"

    seen = repair([asked, *([assistant("half")] if answered else []), ended, after])

    said = [entry.text for entry in seen if isinstance(entry, AssistantEntry)]
    assert said == ["half"] * answered + [UNANSWERED] * marked
    assert (seen[0], seen[-1]) == (asked, after)


def test_a_message_that_joined_after_a_warning_is_not_marked() -> None:
    asked, noted, steered = user("go"), NoticeEntry(text="fallback", level="warning", run_id="run-1"), user("and this")
    asked.run_id = steered.run_id = "run-1"

    assert repair([asked, noted, steered]) == [asked, steered]


def test_a_duplicate_result_is_left_out() -> None:
    first, second = result("a", "first"), result("a", "second")
    assert repair([user(), assistant("", "a"), first, second]) == [user(), assistant("", "a"), first]


def test_a_token_is_about_four_bytes_and_a_chinese_one_about_a_character() -> None:
    assert estimate_tokens(user("a" * 400)) == 104
    assert estimate_tokens(user("雪" * 400)) == 304
    assert estimate_tokens(NoticeEntry(text="a" * 400)) == 0


def test_after_a_compaction_the_model_sees_the_summary_and_what_was_kept() -> None:
    kept: list[TranscriptEntry] = [user("two"), assistant("2")]
    compaction = CompactionEntry(summary="they said one", kept=2)
    log: list[TranscriptEntry] = [user("one"), assistant("1"), *kept, compaction, user("three")]

    summary, *following = visible(log)

    assert isinstance(summary, UserEntry)
    assert "they said one" in summary.content[0].text
    assert following == [*kept, user("three")]


def test_only_the_latest_compaction_counts() -> None:
    first, second = CompactionEntry(summary="first", kept=1), CompactionEntry(summary="second", kept=3)
    log: list[TranscriptEntry] = [user("one"), user("two"), first, user("three"), second, user("four")]

    summary, *following = visible(log)

    assert isinstance(summary, UserEntry)
    assert "second" in summary.content[0].text
    assert following == [user("two"), user("three"), user("four")]


def test_the_view_does_not_depend_on_how_far_back_the_log_was_read() -> None:
    log: list[TranscriptEntry] = [user(str(n)) for n in range(9)]
    log.insert(7, CompactionEntry(summary="earlier", kept=2))

    for start in range(6):
        assert visible(log[start:]) == visible(log)
        assert reaches_back(log[start:])
    assert not reaches_back(log[6:]), "a kept entry is missing, and older ones must be read"
    assert not reaches_back([user()]), "without a compaction the model sees the log from its start"


def test_an_unreadable_entry_makes_the_model_see_more_not_less() -> None:
    log: list[TranscriptEntry] = [user("old"), user("kept"), user("damaged"), CompactionEntry(summary="s", kept=2)]
    del log[2]
    assert visible(log)[1:] == [user("old"), user("kept")]


def test_the_current_request_is_repeated_verbatim() -> None:
    log: list[TranscriptEntry] = [CompactionEntry(summary="s", request="rename all the files", kept=0)]
    assert "rename all the files" in visible(log)[0].content[0].text  # type: ignore[union-attr]


def test_a_compaction_is_stored_like_other_entries() -> None:
    entry = CompactionEntry(summary="s", kept=3, tokens_before=10, tokens_after=4, details={"mode": "default"})
    assert load_entry(dump_entry(entry)) == entry
    assert repair([user(), entry]) == [user()]
    assert estimate_tokens(entry) == 0
