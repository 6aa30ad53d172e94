"""The steps of a run with their times."""

from __future__ import annotations

from openclaw_workers.cli.render.runs import journal_lines


def text_of(role: str, text: str, at: int) -> dict[str, object]:
    return {"role": role, "content": [{"type": "text", "text": text}], "timestamp": at}


def test_each_step_has_its_time_since_the_start_and_its_length() -> None:
    journal = [
        text_of("user", "hi", 900),  # it was written before a worker took it
        text_of("assistant", "two\nlines", 3_500),
        text_of("assistant", "done", 63_500),
    ]
    lines = journal_lines({"startedAt": 1_000, "queuedAt": 900, "journal": journal})
    assert lines == [
        "    +0ms    0ms  user: hi",
        "   +2.5s   2.5s  assistant: two",
        "                   lines",
        "     +1m     1m  assistant: done",
    ]
