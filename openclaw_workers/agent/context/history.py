"""The part of a transcript that the model sees after compaction, always as a valid sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from openclaw_workers.agent.output.heartbeat_reply import HEARTBEAT_OK
from openclaw_workers.agent.output.heartbeat_reply import PROVENANCE as HEARTBEAT
from openclaw_workers.agent.prompt.texts import MISSING_RESULT, REQUEST_HEADING, SUMMARY_HEADING, UNANSWERED
from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.system_event import PROVENANCE as SYSTEM_EVENT
from openclaw_workers.domain.transcript import (
    AssistantBlock,
    AssistantEntry,
    CompactionEntry,
    FileBlock,
    ImageBlock,
    NoticeEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)

_SPOKEN: Final[frozenset[type]] = frozenset({UserEntry, AssistantEntry})


def estimate_tokens(entry: TranscriptEntry) -> int:
    return entry.approx_tokens


def last_compaction(entries: Sequence[TranscriptEntry]) -> int | None:
    """The index of the latest compaction, which is the only one that counts."""
    kinds = list(map(type, entries))  # much faster than a loop over the entries, and run for every call
    return len(kinds) - 1 - kinds[::-1].index(CompactionEntry) if CompactionEntry in kinds else None


def seen_from(entries: Sequence[TranscriptEntry]) -> int:
    """The index of the oldest entry that the model still sees verbatim."""
    at = last_compaction(entries)
    return 0 if at is None else max(0, at - _compaction(entries, at).kept)


def reaches_back(entries: Sequence[TranscriptEntry]) -> bool:
    """Whether these newest entries of a log contain all that the model sees, so that no older ones must be read."""
    at = last_compaction(entries)
    return at is not None and _compaction(entries, at).kept <= at


def visible(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """What the model sees of a log: the latest summary as a user message, then the entries it does not cover."""
    at = last_compaction(entries)
    if at is None:
        return _without_quiet_beats(entries)
    following = [entry for entry in entries[seen_from(entries) :] if not isinstance(entry, CompactionEntry)]
    return [summary_message(_compaction(entries, at)), *_without_quiet_beats(following)]


def _without_quiet_beats(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """The entries without those of heartbeats that had nothing to report, unless somebody spoke meanwhile."""
    # By default heartbeats come every half hour; the window must not fill up with them.
    spoken = [entry for entry in entries if type(entry) is UserEntry]
    beats = {entry.run_id for entry in spoken if entry.provenance == HEARTBEAT}
    if not beats:
        return list(entries)
    heard = {entry.run_id for entry in spoken if entry.provenance not in (HEARTBEAT, SYSTEM_EVENT)}
    quiet = {
        entry.run_id
        for entry in entries
        if isinstance(entry, AssistantEntry) and entry.run_id in beats - heard and entry.text.strip() == HEARTBEAT_OK
    }
    return [entry for entry in entries if getattr(entry, "run_id", None) not in quiet]


def summary_message(compaction: CompactionEntry) -> UserEntry:
    text = f"{SUMMARY_HEADING}\n\n{compaction.summary}"
    if compaction.request:
        text += f"\n\n{REQUEST_HEADING}\n{compaction.request}"
    return UserEntry(
        content=[TextBlock(text=text)],
        timestamp=compaction.timestamp,
        run_id=compaction.run_id,
        provenance="compaction",
    )


def _compaction(entries: Sequence[TranscriptEntry], at: int) -> CompactionEntry:
    entry = entries[at]
    assert isinstance(entry, CompactionEntry)
    return entry


def fit(
    entries: Sequence[TranscriptEntry],
    budget_tokens: int,
    estimate: Callable[[TranscriptEntry], int] | None = None,
) -> list[TranscriptEntry]:
    """The newest entries within the budget, starting at a user message; at least the last turn."""
    start, spent = len(entries), 0
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        spent += estimate(entry) if estimate else entry.approx_tokens
        if spent > budget_tokens and start < len(entries):
            break
        if entry.role == "user":
            start = index
    return list(entries[start:])


def repair(entries: Sequence[TranscriptEntry], *, keep_open_tail: bool = False) -> list[TranscriptEntry]:
    """Leave out notices, put exactly one result after every tool call, and drop results without a call.

    `keep_open_tail` leaves the calls of the last assistant message open, because they are about to run.
    """
    if _is_plain(entries):
        return list(entries)
    seen = _without_notices(entries)
    last_assistant = max((i for i, entry in enumerate(seen) if isinstance(entry, AssistantEntry)), default=-1)
    repaired: list[TranscriptEntry] = []
    for index, entry in enumerate(seen):
        if isinstance(entry, ToolResultEntry):
            continue
        repaired.append(entry)
        if not isinstance(entry, AssistantEntry) or not entry.tool_calls:
            continue
        found = _results_after(seen, index)
        for call in entry.tool_calls:
            if call.id in found:
                repaired.append(found[call.id])
            elif not (keep_open_tail and index == last_assistant):
                repaired.append(result_for(call, MISSING_RESULT, is_error=True))
    return repaired


def _without_notices(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """Leave out notices, and mark requests whose turn ended without an answer.

    Otherwise a stopped request would directly precede the next message, as if it still had to be answered.
    """
    seen: list[TranscriptEntry] = []
    ended: str | None = None
    for entry in entries:
        if isinstance(entry, NoticeEntry):
            ended = ended if entry.level == "info" else entry.run_id
        elif not isinstance(entry, CompactionEntry):
            last = seen[-1] if seen else None
            if ended and last and (last.role, entry.role) == ("user", "user") and last.run_id == ended != entry.run_id:
                seen.append(_said(UNANSWERED, last))
            seen.append(entry)
    return seen


def _said(text: str, after: TranscriptEntry) -> AssistantEntry:
    content: list[AssistantBlock] = [TextBlock(text=text)]
    return AssistantEntry(content=content, timestamp=after.timestamp, run_id=after.run_id, stop_reason="error")


def _is_plain(entries: Sequence[TranscriptEntry]) -> bool:
    """Whether there are only messages without tool calls: the common case, checked for every model call."""
    kinds = set(map(type, entries))
    if not kinds <= _SPOKEN:
        return False
    return not any(entry.tool_calls for entry in entries if type(entry) is AssistantEntry)


def _results_after(entries: Sequence[TranscriptEntry], index: int) -> dict[str, ToolResultEntry]:
    """The first result of each call, up to the next assistant message."""
    found: dict[str, ToolResultEntry] = {}
    for entry in entries[index + 1 :]:
        if isinstance(entry, AssistantEntry):
            break
        if isinstance(entry, ToolResultEntry):
            found.setdefault(entry.tool_call_id, entry)
    return found


def with_unique_call_ids(content: Sequence[AssistantBlock], before: Sequence[TranscriptEntry]) -> list[AssistantBlock]:
    """Replace duplicate call ids: some servers restart their numbering with each message. Here an id names one call,
    because repeating it after a crash means the same child or message (rule 3)."""
    if not any(isinstance(block, ToolCallBlock) for block in content):
        return list(content)
    used = {call.id for entry in before if isinstance(entry, AssistantEntry) for call in entry.tool_calls}
    named: list[AssistantBlock] = []
    for block in content:
        if not isinstance(block, ToolCallBlock):
            named.append(block)
            continue
        own = block.id if block.id not in used else f"call_{new_token()}"
        named.append(block.model_copy(update={"id": own}))
        used.add(own)
    return named


def open_calls(entries: Sequence[TranscriptEntry]) -> list[ToolCallBlock]:
    """The calls of the last assistant message that have no result yet, in order."""
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if isinstance(entry, AssistantEntry):
            found = _results_after(entries, index)
            return [call for call in entry.tool_calls if call.id not in found]
    return []


def result_for(
    call: ToolCallBlock, text: str, *, is_error: bool = False, files: Sequence[ImageBlock | FileBlock] = ()
) -> ToolResultEntry:
    content = [TextBlock(text=text), *files]
    return ToolResultEntry(tool_call_id=call.id, tool_name=call.name, content=content, is_error=is_error)
