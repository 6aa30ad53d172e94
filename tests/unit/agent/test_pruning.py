"""Pruning: what is cut and when, and that nothing else is touched."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.context.history import estimate_tokens
from openclaw_workers.agent.context.pruning import prune
from openclaw_workers.config.context import ContextPruningSettings
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    ImageBlock,
    TextBlock,
    ToolResultEntry,
    TranscriptEntry,
    dump_entry,
)
from openclaw_workers.domain.untrusted import CLOSE, opening_marker, wrap
from tests.unit.agent.entries import assistant, result, transcripts, user

HOUR = 3_600_000
PLACEHOLDER = ContextPruningSettings().hard_clear.placeholder


def settings(**changes: Any) -> ContextPruningSettings:
    return ContextPruningSettings.model_validate(changes)


def steps(*sizes: int, spacing: int = 1000, tool: str = "read") -> list[TranscriptEntry]:
    """A question, then one tool call with a result of each size, a second apart from one another."""
    entries: list[TranscriptEntry] = [user("go")]
    for n, size in enumerate(sizes):
        entries += [assistant("", f"call-{n}"), result(f"call-{n}", f"{n}" * size)]
    for n, entry in enumerate(entries):
        assert not isinstance(entry, str)
        entry.timestamp = 1 + n * spacing
        if isinstance(entry, ToolResultEntry):
            entry.tool_name = tool
    return entries


def pruned(
    entries: list[TranscriptEntry],
    window: int,
    *,
    after: int = 2 * HOUR,
    frame: int = 0,
    compact_above: int | None = None,
    **changes: Any,
) -> list[TranscriptEntry]:
    """What is shown this long after the last entry; the conversation is compacted above 80 % of the window."""
    return prune(
        entries,
        settings(**changes),
        window=window,
        frame_tokens=frame,
        compact_above=window * 8 // 10 if compact_above is None else compact_above,
        estimate=estimate_tokens,
        now_ms=entries[-1].timestamp + after,
    )


def texts(entries: list[TranscriptEntry]) -> list[str]:
    return [entry.content[0].text for entry in entries if isinstance(entry, ToolResultEntry)]


def test_a_long_result_keeps_its_start_and_its_end_and_says_so() -> None:
    entries = steps(9000, 100, 100, 100)

    first, *others = texts(pruned(entries, 3000))

    assert first.startswith("0" * 2000)
    assert first.endswith("0" * 2000)
    assert "trimmed: 9,000 characters" in first
    assert len(first) <= 5000
    assert others == texts(entries)[1:]


def test_a_trimmed_result_stays_quoted() -> None:
    entries = steps(9000, 100, 100, 100)
    assert isinstance(entries[2], ToolResultEntry)
    entries[2].content = [TextBlock(text=wrap("x" * 9000, "tool read"))]

    first = texts(pruned(entries, 3000, softTrim={"headChars": 0, "tailChars": 3}))[0]

    assert first.startswith(f"{opening_marker('tool read')}\n[… trimmed: 9,002 characters")
    assert first.endswith(f"xx\n{CLOSE}")


def test_results_are_cleared_from_the_oldest_on() -> None:
    entries = steps(4000, 4000, 4000, 400, 400, 400)  # about 3,300 tokens, none of them long enough to be trimmed

    assert texts(pruned(entries, 3400))[:3] == [PLACEHOLDER, *texts(entries)[1:3]]
    assert texts(pruned(entries, 2400))[:3] == [PLACEHOLDER, PLACEHOLDER, texts(entries)[2]]


def test_trimming_and_clearing_follow_the_settings() -> None:
    entries, window = steps(3000, 3000, 3000, 100, 100, 100), 2400
    trim = {"maxChars": 1000, "headChars": 100, "tailChars": 50}

    trimmed = texts(pruned(entries, window, softTrim=trim, hardClearRatio=0.9))[0]
    assert trimmed.strip("0").startswith("\n[… trimmed: 3,000 characters")
    assert (len(trimmed) - len(trimmed.lstrip("0")), len(trimmed) - len(trimmed.rstrip("0"))) == (100, 50)
    assert texts(pruned(entries, window, hardClear={"placeholder": "(gone)"}))[0] == "(gone)"
    assert pruned(entries, window, hardClear={"enabled": False}) == entries, "too short to be trimmed"


@pytest.mark.parametrize(
    ("changes", "pruned_from"),
    [
        ({"softTrimRatio": 0.2, "hardClearRatio": 1.0}, 11_000),
        ({"softTrimRatio": 0.5, "hardClearRatio": 1.0}, 4_500),
        ({"softTrimRatio": 0.5, "hardClearRatio": 0.5, "softTrim": {"maxChars": 90_000}}, 4_500),
        ({"softTrimRatio": 0.2, "hardClearRatio": 0.2, "softTrim": {"maxChars": 90_000}}, 11_000),
    ],
)
def test_the_ratios_decide_when_results_are_trimmed_and_cleared(changes: dict[str, Any], pruned_from: int) -> None:
    entries = steps(9000, 100, 100, 100)  # about 2,300 tokens

    assert pruned(entries, pruned_from, **changes) != entries
    assert pruned(entries, pruned_from * 11 // 10, **changes) == entries


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"mode": "off"}, id="off"),
        pytest.param({"tools": {"deny": ["re*"]}}, id="denied"),
        pytest.param({"tools": {"allow": ["grep"]}}, id="not-allowed"),
        pytest.param({"tools": {"allow": ["read"], "deny": ["READ"]}}, id="deny-wins"),
        pytest.param({"minPrunableToolChars": 9001}, id="too-short"),
        pytest.param({"keepLastAssistants": 5}, id="fewer-assistants-than-are-protected"),
    ],
)
def test_protected_results_are_unchanged(changes: dict[str, Any]) -> None:
    entries = steps(9000, 9000, 9000, 9000)
    assert pruned(entries, 1000, **changes) == entries


def test_tool_aliases_are_recognised() -> None:
    entries = steps(9000, 100, 100, 100, tool="read_file")
    assert texts(pruned(entries, 100, tools={"allow": ["read"]}))[0] == PLACEHOLDER


def test_nothing_happens_while_there_is_room() -> None:
    entries = steps(9000, 100, 100, 100)
    assert pruned(entries, 100_000) == entries
    assert pruned(entries, 100_000, frame=70_000) != entries, "the system prompt and the tools take room as well"


def test_below_the_compaction_trigger_only_results_older_than_the_ttl_are_trimmed() -> None:
    entries, window = steps(9000, 100, 100, 100), 3100  # about 2,350 tokens: 76 % of the window
    assert pruned(entries, window, after=HOUR // 2) == entries
    assert pruned(entries, window, after=HOUR // 2, ttl="10m") != entries


def test_a_result_gets_old_although_the_conversation_never_paused() -> None:
    entries = steps(9000, 100, 100, 100, spacing=HOUR // 4)
    assert pruned(entries, 3100, after=0) != entries


def test_before_a_compaction_younger_results_are_trimmed_and_then_cleared() -> None:
    entries = steps(9000, 9000, 9000, 100, 100, 100)  # about 6,850 tokens in a minute

    assert "trimmed: 9,000 characters" in texts(pruned(entries, 8300, after=0))[0], "83 %"
    assert texts(pruned(entries, 8700, after=0))[:3] == texts(entries)[:3], "79 %"

    entries = steps(4000, 4000, 4000, 400, 400, 400)  # about 3,300 tokens, none of them long enough to be trimmed
    assert texts(pruned(entries, 3500, after=0))[:2] == [PLACEHOLDER, texts(entries)[1]], "94 %"
    assert texts(pruned(entries, 4000, after=0))[:2] == texts(entries)[:2], "82 %: it is compacted"


def test_clearing_frees_enough_that_the_next_calls_change_nothing() -> None:
    entries = steps(*[1200] * 40)
    window, before, changes = 9000, pruned(entries, 9000, after=0), 0
    for n in range(40, 56):
        entries += [assistant("", f"call-{n}"), result(f"call-{n}", f"{n % 10}" * 1200)]
        for entry in entries[-2:]:
            entry.timestamp = entries[-3].timestamp + 1
        now = pruned(entries, window, after=0)
        changes += now[: len(before)] != before
        before = now
    assert texts(before).count(PLACEHOLDER) > 10
    assert changes <= 3, "each change makes the provider's cache useless"


def test_nothing_is_pruned_before_the_first_model_call() -> None:
    entries: list[TranscriptEntry] = [user("go"), result("lost", "x" * 9000)]
    assert pruned(entries, 10, keepLastAssistants=0) == entries


def test_pruned_results_stay_pruned_in_later_calls() -> None:
    # Given a long pause, then a turn of two quick calls
    before = steps(9000, 100, 100, 100)
    back = before[-1].timestamp + 2 * HOUR
    question, call, answer = user("and now?"), assistant("", "new"), result("new", "n" * 2000)
    question.timestamp, call.timestamp, answer.timestamp = back, back + 5000, back + 6000

    # When the view is made for the first and the second call
    first = pruned([*before, question], 3000, after=10)
    second = pruned([*before, question, call, answer], 3000, after=1000)

    # Then the second begins with the first, letter by letter, and so the cache serves it
    assert first != [*before, question]
    assert second == [*first, call, answer]


def test_an_image_is_never_cut() -> None:
    entries = steps(9000, 100, 100, 100)
    picture = entries[2]
    assert isinstance(picture, ToolResultEntry)
    picture.content.append(ImageBlock(name="p.png", mime_type="image/png", path="/w/p.png"))
    assert (
        prune(
            entries,
            settings(),
            window=10,
            frame_tokens=100,
            compact_above=8,
            estimate=lambda _: 1,
            now_ms=entries[-1].timestamp + 2 * HOUR,
        )[2]
        is picture
    )


@st.composite
def conversations(draw: st.DrawFn) -> list[TranscriptEntry]:
    entries, clock = draw(transcripts()), draw(st.integers(0, 10))
    for entry in entries:
        clock += draw(st.sampled_from([1000, 1000, 2 * HOUR]))
        entry.timestamp = clock
        if isinstance(entry, ToolResultEntry):
            entry.tool_name = draw(st.sampled_from(["read", "exec", "memory_search"]))
            entry.content = [TextBlock(text=draw(st.sampled_from("abc")) * draw(st.sampled_from([1, 150, 600, 3000])))]
    return entries


SETTINGS = st.builds(
    lambda ratios, keep, least, most, deny, clear: ContextPruningSettings.model_validate(
        {
            "ttl": timedelta(hours=1),
            "softTrimRatio": min(ratios),
            "hardClearRatio": max(ratios),
            "keepLastAssistants": keep,
            "minPrunableToolChars": least,
            "softTrim": {"maxChars": most, "headChars": most // 2, "tailChars": most // 3},
            "tools": {"deny": deny},
            "hardClear": {"enabled": clear},
        }
    ),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.integers(0, 4),
    st.sampled_from([0, 100, 1000]),
    st.sampled_from([0, 50, 200, 1000]),
    st.sampled_from([[], ["exec"]]),
    st.booleans(),
)


@given(conversations(), SETTINGS, st.integers(1, 3000), st.sampled_from([0, HOUR, 3 * HOUR]))
def test_pruning_changes_nothing_else(
    entries: list[TranscriptEntry], rules: ContextPruningSettings, window: int, after: int
) -> None:
    stored = [dump_entry(entry) for entry in entries]
    now = entries[-1].timestamp + after

    def view(of: list[TranscriptEntry]) -> list[TranscriptEntry]:
        above = window * 8 // 10
        return prune(
            of, rules, window=window, frame_tokens=5, compact_above=above, estimate=estimate_tokens, now_ms=now
        )

    once = view(entries)

    # Nothing was changed in place, nothing moved, and only texts of tool results differ
    assert [dump_entry(entry) for entry in entries] == stored
    assert len(once) == len(entries)
    assistants = [i for i, entry in enumerate(entries) if isinstance(entry, AssistantEntry)]
    keep = rules.keep_last_assistants
    for index, (old, new) in enumerate(zip(entries, once, strict=True)):
        if new == old:
            continue
        assert isinstance(old, ToolResultEntry)
        assert isinstance(new, ToolResultEntry)
        assert (new.tool_call_id, new.tool_name, new.is_error) == (old.tool_call_id, old.tool_name, old.is_error)
        assert old.tool_name not in rules.tools.deny
        assert len(old.content[0].text) >= rules.min_prunable_tool_chars
        assert len(new.content[0].text) < len(old.content[0].text), "never longer"
        assert not keep or index < assistants[-keep], "never one of the last assistants' results"
    assert view(once) == once
