"""`offline/demo`: carries out simple requests through the same tool loop as a real model."""

from __future__ import annotations

from collections.abc import Iterator

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry, UserEntry
from openclaw_workers.domain.untrusted import unwrap
from openclaw_workers.providers.attachments import note
from openclaw_workers.providers.base import ModelRequest, StreamEvent
from openclaw_workers.providers.offline.event_stream import answer, call_blocks, counted, deltas, pieces, words
from openclaw_workers.providers.offline.fanout import SPAWN
from openclaw_workers.providers.offline.incoming import is_announce, last_word, spoken_text
from openclaw_workers.providers.offline.intent import Reply
from openclaw_workers.providers.offline.intents import reply_to
from openclaw_workers.providers.offline.memories import described
from openclaw_workers.providers.offline.reports import describe_announce, describe_spawns

_SHOWN_RESULT_CHARS = 1_500


def stream(request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
    asked, reply = _decide(request)
    usage, first = counted(request)
    yield first
    parts = words(reply.text) if reply.word_seconds else pieces(reply.text)
    yield from deltas(parts, cancel, gap_seconds=reply.word_seconds)
    yield answer(reply.text, call_blocks(request, asked, reply.calls), usage)


def _decide(request: ModelRequest) -> tuple[UserEntry | None, Reply]:
    """Answer everything since the last answer: tool results first, then messages."""
    asked: UserEntry | None = None
    new = _unanswered(request)
    # Reported together: a fan-out has one result per child, and a sentence each would be a long list of the same.
    spawns = [entry for entry in new if isinstance(entry, ToolResultEntry) and entry.tool_name == SPAWN]
    replies = [Reply(describe_spawns(spawns))] if spawns else []
    for entry in new:
        if isinstance(entry, UserEntry):
            asked = entry
            replies += _replies_to(entry, request)
        elif entry.tool_name != SPAWN:
            replies.append(Reply(described(entry) or _describe_result(entry)))
    if not replies:
        return None, reply_to("", request.tools)
    return asked, Reply(
        "\n\n".join(reply.text for reply in replies),
        tuple(call for reply in replies for call in reply.calls),
        max(reply.word_seconds for reply in replies),
    )


def _replies_to(entry: UserEntry, request: ModelRequest) -> list[Reply]:
    return [_reply_to(entry, block.text, request) for block in entry.content]


def _reply_to(entry: UserEntry, text: str, request: ModelRequest) -> Reply:
    """Answers of sub-agents and other sessions are reported or acknowledged, never obeyed."""
    if is_announce(entry, text):
        return Reply(describe_announce(text))
    if word := last_word(entry, text):
        return Reply(word)
    return reply_to(spoken_text(text), request.tools)


def _unanswered(request: ModelRequest) -> list[UserEntry | ToolResultEntry]:
    new: list[UserEntry | ToolResultEntry] = []
    for entry in reversed(request.messages):
        if isinstance(entry, AssistantEntry):
            break
        if isinstance(entry, UserEntry | ToolResultEntry):
            new.append(entry)
    return new[::-1]


def _describe_result(result: ToolResultEntry) -> str:
    text = "\n".join([unwrap(result.text).strip(), *map(note, result.files)]).strip()
    if len(text) > _SHOWN_RESULT_CHARS:
        left_out = len(text) - _SHOWN_RESULT_CHARS
        text = f"{text[:_SHOWN_RESULT_CHARS]}\n[… {left_out:,} more characters …]"
    if result.is_error:
        return f"`{result.tool_name}` failed: {text}"
    return f"`{result.tool_name}` returned:\n\n{text}"
