"""Transcripts for tests: single entries, whole turns as the loop writes them, and random mixtures."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from openclaw_workers.domain.transcript import (
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


# Random mixtures, as damage and quarantine could leave them.
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


def is_valid(entries: Sequence[TranscriptEntry]) -> bool:
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
