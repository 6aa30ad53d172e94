"""The prompt for a program: the conversation as text, or only the new messages if the program resumes its session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openclaw_workers.domain.transcript import (
    AssistantEntry,
    ThinkingBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.providers.attachments import note
from openclaw_workers.providers.base import ModelRequest

SESSION: Final = "cli-session:"
"""The prefix of the program's session id, which is stored as the signature of a thinking block.

So the id is stored with the answer it belongs to. After a crash, a reset or a compaction the transcript shows which
session of the program, if any, still matches.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str
    session: str | None = None
    """The program's session that already contains everything before this text."""


def system_for(request: ModelRequest) -> str:
    return "\n\n".join(part for part in (request.system, request.system_tail, request.worker_line) if part)


def prompt_for(request: ModelRequest, *, can_resume: bool, has_system: bool = False) -> Prompt:
    """Build the prompt. `has_system`: the program gets the system prompt separately."""
    last = max((i for i, entry in enumerate(request.messages) if isinstance(entry, AssistantEntry)), default=-1)
    answer = request.messages[last] if last >= 0 else None
    if can_resume and isinstance(answer, AssistantEntry) and (session := _session(answer, request.model)):
        new = ["" if has_system else request.system_extra, _said(request.messages[last + 1 :])]
        return Prompt("\n\n".join(part for part in new if part), session)
    before, now = request.messages[: last + 1], request.messages[last + 1 :]
    parts = [
        "" if has_system else system_for(request),
        f"The conversation so far:\n\n{_with_roles(before)}" if before else "",
        _said(now),
    ]
    return Prompt("\n\n".join(part for part in parts if part))


def _session(answer: AssistantEntry, model: str) -> str | None:
    # If another model answered in between, the program's session lacks that part of the conversation.
    if (answer.provider, answer.model) != ("cli", model):
        return None
    for block in answer.content:
        if isinstance(block, ThinkingBlock) and (block.signature or "").startswith(SESSION):
            return (block.signature or "").removeprefix(SESSION)
    return None


def _said(entries: Sequence[TranscriptEntry]) -> str:
    return "\n\n".join(_words(entry) for entry in entries)


def _with_roles(entries: Sequence[TranscriptEntry]) -> str:
    who = {"user": "User", "assistant": "You", "toolResult": "Tool"}
    return "\n\n".join(f"{who.get(entry.role, 'Note')}: {words}" for entry in entries if (words := _words(entry)))


def _words(entry: TranscriptEntry) -> str:
    match entry:
        case UserEntry():
            return "\n\n".join([*(block.text for block in entry.content), *map(note, entry.attachments)])
        case AssistantEntry():
            return entry.text
        case ToolResultEntry():
            return "\n".join([entry.text, *map(note, entry.files)])
        case _:
            return ""
