"""Recognise what a user message is: a person's message, a sub-agent's task, or results of sub-agents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry

_RESULTS_LINE = "[Sub-agent results]"
_LAST_WORDS = {"[Reply from session ": "REPLY_SKIP", "[Exchange with another session]": "ANNOUNCE_SKIP"}

# Collected messages are separated by a line of this form.
_QUEUED_LINE = re.compile(r"\A\s*Queued #\d+[^\n]*\n")
# The text before this line is context for a sub-agent; only the text after it is its task.
_TASK_LINE = re.compile(r"^\[Subagent Task\]", re.MULTILINE)
# In groups each message has a head and an end; the last one is addressed to the agent.
_CHAT_MESSAGE = re.compile(r"^<<<CHAT_MESSAGE [^\n]*>>>\n(.*?)\n<<<END_CHAT_MESSAGE>>>$", re.MULTILINE | re.DOTALL)


def spoken_text(text: str) -> str:
    """What the sender wrote, without the lines that the runtime added."""
    text = _QUEUED_LINE.sub("", text)
    if task := _TASK_LINE.search(text):
        text = text[task.end() :]
    if in_group := _CHAT_MESSAGE.findall(text):
        text = in_group[-1]
    return text.strip()


def is_announce(entry: UserEntry, text: str) -> bool:
    """Whether this text of an entry contains results of sub-agents.

    Among collected messages the first line decides: the entry's provenance is that of the first message only.
    """
    return entry.provenance == "subagent" or _QUEUED_LINE.sub("", text).lstrip().startswith(_RESULTS_LINE)


def last_word(entry: UserEntry, text: str) -> str:
    """The word that ends an exchange with another session, if this text is part of one; otherwise empty."""
    begun = text.lstrip() if entry.provenance == "inter_session" else ""
    return next((word for line, word in _LAST_WORDS.items() if begun.startswith(line)), "")


def newest_said(messages: Sequence[TranscriptEntry]) -> str:
    """The whole text of the newest user message, unchanged."""
    for entry in reversed(messages):
        if entry.role == "user":
            return "\n".join(block.text for block in entry.content)
    return ""


def announce_is_new(messages: Sequence[TranscriptEntry]) -> bool:
    """Whether results of sub-agents arrived after the last answer."""
    for entry in reversed(messages):
        if entry.role == "assistant":
            break
        if entry.role == "user" and any(is_announce(entry, block.text) for block in entry.content):
            return True
    return False
