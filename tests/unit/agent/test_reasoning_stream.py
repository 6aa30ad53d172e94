"""What of a model's thinking reaches viewers at each level."""

from __future__ import annotations

import pytest

from openclaw_workers.agent.output.reasoning_stream import ReasoningStream


@pytest.mark.parametrize(
    ("level", "shown"),
    [("off", []), ("on", ["first this", "then that"]), ("stream", ["first ", "this", "then ", "that"])],
)
def test_thinking_is_shown_in_blocks_or_as_it_streams(level: str, shown: list[str]) -> None:
    seen: list[str] = []
    thoughts = ReasoningStream(level, lambda kind, data: seen.append(data["text"]))
    for pieces in (["first ", "this"], ["then ", "that"]):
        for piece in pieces:
            thoughts.add(piece)
        thoughts.end()
    thoughts.end()
    assert seen == shown
