"""Exported entries: what OpenClaw reads, each with its parent, and what the model sees after a compaction."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from openclaw_workers.domain.transcript import (
    AssistantEntry,
    CompactionEntry,
    ImageBlock,
    NoticeEntry,
    TextBlock,
    ThinkingBlock,
    TranscriptEntry,
    Usage,
)
from openclaw_workers.engine.archives.openclaw_entries import exported_lines
from tests.unit.agent.entries import assistant, result, transcripts, user


def exported(*entries: TranscriptEntry) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported_lines("sid", list(entries))]


def walk_back(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """From the newest entry to the root, by parent, as OpenClaw reads a branch; oldest first."""
    by_id, branch = {line["id"]: line for line in lines}, []
    at = lines[-1]["id"] if lines else None
    while at is not None:
        branch.append(by_id[at])
        at = by_id[at]["parentId"]
    return branch[::-1]


def seen(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the model sees: the latest summary, the entries from the first kept one on, and those after the summary."""
    branch = walk_back(lines)
    at = max((i for i, line in enumerate(branch) if line["type"] == "compaction"), default=None)
    if at is None:
        return branch
    first = next(i for i, line in enumerate(branch) if line["id"] == branch[at]["firstKeptEntryId"])
    return [branch[at], *branch[first:at], *branch[at + 1 :]]


@given(transcripts())
def test_the_parents_lead_from_the_newest_entry_to_the_first(entries: list[TranscriptEntry]) -> None:
    lines = exported(*entries)
    assert walk_back(lines) == lines
    assert {tuple(line)[:4] for line in lines} <= {("type", "id", "parentId", "timestamp")}
    assert exported(*entries, user("more"))[:-1] == lines, "an entry has the same id in every export"


def test_messages_have_the_fields_of_openclaw() -> None:
    spoken = AssistantEntry(
        content=[ThinkingBlock(thinking="hm", signature="s"), TextBlock(text="hi")],
        timestamp=1_700_000_000_123,
        usage=Usage(input=3, output=2),
        provider="openai",
        model="m",
    )
    (line,) = exported(spoken)
    message = line["message"]

    assert (line["type"], line["timestamp"]) == ("message", "2023-11-14T22:13:20.123Z")
    assert (message["role"], message["timestamp"]) == ("assistant", 1_700_000_000_123)
    assert message["content"][0] == {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    assert (message["usage"]["totalTokens"], message["usage"]["cost"]["total"]) == (5, 0)
    assert (message["api"], message["provider"], message["stopReason"]) == ("unknown", "openai", "stop")


def test_a_returned_file_is_named_and_a_notice_is_not_for_the_model() -> None:
    answered = result("c", "seen")
    answered.content.append(ImageBlock(name="p.png", mime_type="image/png", path="/w/p.png"))
    lines = exported(assistant("", "c"), answered, NoticeEntry(text="cut", level="warning"))

    assert lines[1]["message"]["content"] == [
        {"type": "text", "text": "seen"},
        {"type": "text", "text": "[image/png /w/p.png]"},
    ]
    assert (lines[2]["type"], lines[2]["customType"]) == ("custom", "notice")
    assert lines[2]["data"] == {"text": "cut", "level": "warning", "runId": None}


def test_a_compaction_names_the_first_entry_that_is_kept() -> None:
    log: list[TranscriptEntry] = [user("one"), assistant("two"), user("three"), assistant("four")]
    summary = CompactionEntry(summary="in short", kept=2, request="do it", tokens_before=9)
    lines = exported(*log, summary, user("five"))

    shown = seen(lines)
    assert [line["message"]["content"][0]["text"] for line in shown[1:]] == ["three", "four", "five"]
    assert shown[0]["summary"].startswith("in short\n\n[The request")
    assert shown[0]["tokensBefore"] == 9
    assert len(seen(exported(*log, CompactionEntry(summary="s", kept=0), user("five")))) == 2
