"""The flush: when it is due, once per cycle, and what it asks."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from openclaw_workers.agent.context.memory_flush import DONE, TOOLS, is_due, notice, request, system_addition
from openclaw_workers.agent.output.silent_replies import NO_REPLY
from openclaw_workers.config.context import CompactionSettings, MemoryFlushSettings
from openclaw_workers.domain.transcript import CompactionEntry, TranscriptEntry
from tests.unit.agent.entries import assistant, user

WINDOW = 200_000  # compacted above 160,000
NOW = datetime(2026, 3, 1, 23, 30, tzinfo=ZoneInfo("Asia/Shanghai"))
LOG: list[TranscriptEntry] = [user(), assistant("a")]


def due(
    log: list[TranscriptEntry], used: int, window: int = WINDOW, tools: Any = ("read", "write"), **flush: Any
) -> bool:
    settings = CompactionSettings.model_validate({"memoryFlush": flush})
    return is_due(log, used, window, settings, tools=tools)


def test_it_is_due_shortly_before_the_compaction() -> None:
    assert not due(LOG, 149_999)
    assert due(LOG, 150_000)
    assert due(LOG, 120_000, softThresholdTokens=40_000)


def test_a_small_window_does_not_make_it_due_at_once() -> None:
    assert not due(LOG, 1_000, window=8_000)
    assert due(LOG, 5_000, window=8_000)


def test_a_long_transcript_forces_it_however_few_tokens_are_seen() -> None:
    long: list[TranscriptEntry] = [user("x" * 3_000_000)]
    assert due(long, 10)
    assert not due(long, 10, forceFlushTranscriptBytes=0)
    assert not due([*long, CompactionEntry(summary="s")], 10), "what an earlier cycle wrote does not count"


@pytest.mark.parametrize("how", [{"saved": ["MEMORY.md"]}, {"saved": []}, {"saved": [], "failure": "no model"}])
def test_it_happens_once_per_cycle_even_if_it_failed(how: dict[str, Any]) -> None:
    flushed = [*LOG, notice(**how)]
    assert not due(flushed, 155_000)
    assert not due([*flushed, user(), assistant("b")], 159_000)
    assert due([*flushed, CompactionEntry(summary="s"), user()], 155_000)


def test_it_is_never_due_without_a_writing_tool_or_when_disabled() -> None:
    assert not due(LOG, 159_000, tools=("read", "memory_search"))
    assert not due(LOG, 159_000, enabled=False)


def test_the_request_names_the_users_date_and_the_silent_token() -> None:
    text = request(MemoryFlushSettings(), NOW).content[0].text
    assert "memory/2026-03-01.md" in text
    assert NO_REPLY in text
    assert "Asia/Shanghai" in text


def test_a_configured_prompt_is_used_and_made_silent() -> None:
    asked = request(MemoryFlushSettings(prompt="Save to memory/YYYY-MM-DD.md."), NOW).content[0].text
    assert asked.startswith("Save to memory/2026-03-01.md.")
    assert asked.count(NO_REPLY) == 1
    assert request(MemoryFlushSettings(prompt=f"Save, or say {NO_REPLY}."), NOW).content[0].text.count(NO_REPLY) == 1


def test_the_system_prompt_is_extended() -> None:
    assert system_addition(MemoryFlushSettings(system_prompt="Focus on: key identifiers.")).endswith("key identifiers.")


def test_the_notice_says_what_was_saved() -> None:
    assert notice(["MEMORY.md"]).text == f"{DONE}: saved to MEMORY.md"
    assert notice([], failure="x").level == "warning"
    assert "exec" not in TOOLS
