"""What the model sees of a transcript: always a valid sequence, the newest part, never without the question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.history import MISSING_RESULT, estimate_tokens, fit, open_calls, repair, result_for
from openclaw_workers.models.transcript import (
    AssistantEntry,
    NoticeEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)

TEXT = st.text(max_size=60)
CALL_IDS = st.sampled_from([f"call-{n}" for n in range(6)])


def user(text: str = "hi") -> UserEntry:
    return UserEntry(content=[TextBlock(text=text)])


def assistant(text: str = "", *calls: str) -> AssistantEntry:
    blocks = [ToolCallBlock(id=call, name="read") for call in calls]
    return AssistantEntry(content=[TextBlock(text=text), *blocks])


def result(call: str, text: str = "done") -> ToolResultEntry:
    return ToolResultEntry(tool_call_id=call, tool_name="read", content=[TextBlock(text=text)])


# Any mixture at all, as damage and quarantine could leave it.
ENTRY: st.SearchStrategy[TranscriptEntry] = st.one_of(
    st.builds(user, TEXT),
    st.builds(lambda text, calls: assistant(text, *calls), TEXT, st.lists(CALL_IDS, max_size=3, unique=True)),
    st.builds(result, CALL_IDS, TEXT),
    st.builds(lambda text: NoticeEntry(text=text), TEXT),
)
ENTRIES = st.lists(ENTRY, max_size=25)


@st.composite
def turn(draw: st.DrawFn, number: int) -> list[TranscriptEntry]:
    """A turn as the loop writes it: steps of calls with their results, steering between them, an answer."""
    entries: list[TranscriptEntry] = [user(f"question {number} " + draw(TEXT))]
    for step in range(draw(st.integers(0, 3))):
        calls = [f"call-{number}-{step}-{n}" for n in range(draw(st.integers(1, 3)))]
        entries += [assistant(draw(TEXT), *calls), *(result(call, draw(TEXT)) for call in calls)]
        if draw(st.booleans()):
            entries.append(user("steered " + draw(TEXT)))
    return [*entries, assistant(draw(TEXT))]


@st.composite
def transcripts(draw: st.DrawFn) -> list[TranscriptEntry]:
    turns = [draw(turn(number)) for number in range(draw(st.integers(1, 5)))]
    entries = [entry for each in turns for entry in each]
    last_question = len(entries) - len(turns[-1])
    return entries[: draw(st.integers(last_question + 1, len(entries)))]


def is_valid(entries: list[TranscriptEntry]) -> bool:
    """Every call is followed, before anything else, by exactly one result, in order; no other results."""
    expected: list[str] = []
    for entry in entries:
        if isinstance(entry, ToolResultEntry):
            if not expected or expected.pop(0) != entry.tool_call_id:
                return False
        elif expected or isinstance(entry, NoticeEntry):
            return False
        elif isinstance(entry, AssistantEntry):
            expected = [call.id for call in entry.tool_calls]
    return not expected


@given(ENTRIES)
def test_whatever_is_stored_the_model_sees_a_valid_sequence(entries: list[TranscriptEntry]) -> None:
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
def test_a_sound_transcript_is_left_as_it_is(entries: list[TranscriptEntry]) -> None:
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


def test_a_call_without_a_result_is_given_one_that_says_so() -> None:
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


def test_a_second_result_of_a_call_is_left_out() -> None:
    first, second = result("a", "first"), result("a", "second")
    assert repair([user(), assistant("", "a"), first, second]) == [user(), assistant("", "a"), first]


def test_a_token_is_about_four_bytes_and_a_chinese_one_about_a_character() -> None:
    assert estimate_tokens(user("a" * 400)) == 104
    assert estimate_tokens(user("雪" * 400)) == 304
    assert estimate_tokens(NoticeEntry(text="a" * 400)) == 0
