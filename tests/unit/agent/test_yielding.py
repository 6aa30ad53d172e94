"""A tool can end a turn. The transcript records that, so the next owner after a crash ends it too."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.errors import TurnYielded
from tests.support.agent_loop import MakeLoop, MemoryJournal, cancel, journal, make_loop, program

__all__ = ["cancel", "journal", "make_loop"]
YIELDED = '{"status": "yielded", "message": ""}'


def turn(*names: str, **failed: bool) -> list[TranscriptEntry]:
    """A turn whose calls all have their results."""
    asked: Any = program({"text": "never said"}, {"text": "went on"})
    calls = [ToolCallBlock(id=name, name=name) for name in names]
    results = [
        ToolResultEntry(
            tool_call_id=name,
            tool_name=name,
            content=[TextBlock(text=YIELDED)],
            is_error=failed.get(name, False),
        )
        for name in names
    ]
    return [asked, AssistantEntry(content=[*calls], stop_reason="toolUse"), *results]


@pytest.mark.parametrize("names", [["sessions_yield"], ["sessions_yield", "read"], ["read", "sessions_yield"]])
def test_a_recorded_yield_ends_the_turn_without_a_model_call(
    make_loop: MakeLoop, journal: MemoryJournal, names: list[str]
) -> None:
    with pytest.raises(TurnYielded, match="yielded"):
        make_loop(*turn(*names)).run()

    assert journal.entries == []


def test_a_failed_yield_or_one_followed_by_a_message_does_not_end_the_turn(make_loop: MakeLoop) -> None:
    steered = UserEntry(content=[TextBlock(text="wait")])

    assert make_loop(*turn("sessions_yield", sessions_yield=True)).run().text == "went on"
    assert make_loop(*turn("sessions_yield"), steered).run().text == "went on"
