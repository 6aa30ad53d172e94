"""What a user message is: words of a person, the task of a sub-agent, or the results of sub-agents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry

_RESULTS_LINE = "[Sub-agent results]"
_LAST_WORDS = {"[Reply from session ": "REPLY_SKIP", "[Exchange with another session]": "ANNOUNCE_SKIP"}

# Collected messages are set apart by a line of this form.
_QUEUED_LINE = re.compile(r"\A\s*Queued #\d+[^\n]*\n")
# What stands before this line tells a sub-agent where it is; only what follows is asked of it.
_TASK_LINE = re.compile(r"^\[Subagent Task\]", re.MULTILINE)


def spoken_text(text: str) -> str:
    """What the sender wrote, without the lines that were put before it on its way."""
    text = _QUEUED_LINE.sub("", text)
    if task := _TASK_LINE.search(text):
        text = text[task.end() :]
    return text.strip()


def is_announce(entry: UserEntry, text: str) -> bool:
    """Whether this text of an entry brings results of sub-agents.

    Among collected messages it is known by its first line: the entry's provenance is that of the first of them.
    """
    return entry.provenance == "subagent" or _QUEUED_LINE.sub("", text).lstrip().startswith(_RESULTS_LINE)


def last_word(entry: UserEntry, text: str) -> str:
    """What ends an exchange with another session, where this text goes on with one; empty for all else."""
    begun = text.lstrip() if entry.provenance == "inter_session" else ""
    return next((word for line, word in _LAST_WORDS.items() if begun.startswith(line)), "")


def newest_said(messages: Sequence[TranscriptEntry]) -> str:
    """The whole text of the newest user message, as it came."""
    for entry in reversed(messages):
        if entry.role == "user":
            return "\n".join(block.text for block in entry.content)
    return ""


def announce_is_new(messages: Sequence[TranscriptEntry]) -> bool:
    """Whether results of sub-agents came after the last answer."""
    for entry in reversed(messages):
        if entry.role == "assistant":
            break
        if entry.role == "user" and any(is_announce(entry, block.text) for block in entry.content):
            return True
    return False
