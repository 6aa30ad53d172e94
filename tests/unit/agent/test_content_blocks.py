"""Images and files in tool results: kept in the transcript, counted, pruned and summarised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.context.history import estimate_tokens
from openclaw_workers.agent.context.overflow import cut_results
from openclaw_workers.agent.context.pruning import prune
from openclaw_workers.agent.context.summaries import render
from openclaw_workers.agent.loop_detection import past_calls
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.tokens import FILE_TOKENS, IMAGE_TOKENS, Estimator
from openclaw_workers.agent.tool_runner import run_call
from openclaw_workers.cancel import Cancel
from openclaw_workers.config.context import ContextPruningSettings
from openclaw_workers.domain.transcript import (
    ContentBlock,
    FileBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    Usage,
    dump_entry,
    load_entry,
)
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.output_limit import FRAME_BYTES, MAX_OUTPUT_BYTES
from tests.unit.agent.entries import assistant, result, user

IMAGE = ImageBlock(name="p.png", mime_type="image/png", path="/w/.openclaw/media/1-p.png")
FILE = FileBlock(name="d.zip", mime_type="application/zip", path="/w/.openclaw/media/2-d.zip")


def with_files(call: str, text: str, *files: ImageBlock | FileBlock) -> ToolResultEntry:
    return ToolResultEntry(tool_call_id=call, tool_name="read", content=[TextBlock(text=text), *files])


class ShowingInput(ToolInput):
    pass


class Showing(Tool[ShowingInput]):
    """Returns blocks."""

    name = "showing"
    effect = Effect.NONE
    input_type = ShowingInput
    untrusted = True
    blocks: list[ContentBlock] = []  # noqa: RUF012 (set by the test)

    def is_result_untrusted(self, args: ShowingInput) -> bool:
        return self.untrusted

    def run(self, args: ShowingInput, ctx: ToolContext) -> list[ContentBlock]:
        return self.blocks


def shown_by(tool: Showing) -> Any:
    ctx = ToolContext(Path("/w"), "c1", "main", "agent:main:main", Cancel(), 30, lambda _: None)
    return run_call(ToolCallBlock(id="c1", name="showing"), {"showing": tool}, ctx)


def test_the_text_of_blocks_is_quoted_and_their_files_are_kept() -> None:
    tool = Showing()
    tool.blocks = [TextBlock(text="one"), IMAGE, TextBlock(text="two"), FILE]
    outcome = shown_by(tool)
    assert outcome.quoted == wrap("one\ntwo", "tool showing")
    assert outcome.files == (IMAGE, FILE)
    assert outcome.plain.endswith(f"[image/png {IMAGE.path}]\n[application/zip {FILE.path}]")


@pytest.mark.parametrize("untrusted", [True, False])
def test_no_tool_returns_more_text_than_its_limit(untrusted: bool) -> None:
    tool = Showing()
    tool.untrusted, tool.blocks = untrusted, [TextBlock(text="雪" * MAX_OUTPUT_BYTES)]
    text = shown_by(tool).plain
    assert len(text.encode()) <= MAX_OUTPUT_BYTES + FRAME_BYTES + 100
    assert "bytes left out here" in text


def test_blocks_survive_being_stored() -> None:
    entry = with_files("c1", "see", IMAGE, FILE)
    stored = load_entry(dump_entry(entry))
    assert stored == entry
    assert isinstance(stored, ToolResultEntry)
    assert (stored.text, list(stored.files)) == ("see", [IMAGE, FILE])
    assert '"type":"image"' in dump_entry(entry).replace(" ", "")


def test_images_and_files_are_counted_and_teach_nothing() -> None:
    calibration = Calibration()
    estimator = Estimator("openai", "gpt-4o", calibration)
    entry = with_files("c1", "see", IMAGE, FILE)
    assert estimator.entry(entry) - estimator.entry(with_files("c1", "see")) == IMAGE_TOKENS + FILE_TOKENS
    estimator.learn("", [], [user(), entry], Usage(input=1_000_000))
    assert calibration.ratio("openai/gpt-4o") == 1


def pruned(entries: list[TranscriptEntry], **changes: Any) -> list[TranscriptEntry]:
    for number, entry in enumerate(entries):
        entry.timestamp = 1 + number
    settings = ContextPruningSettings.model_validate(changes)
    return prune(
        entries, settings, window=100, frame_tokens=0, compact_above=80, estimate=estimate_tokens, now_ms=10**9
    )


def steps(first: ToolResultEntry) -> list[TranscriptEntry]:
    """A call with this result, and as many further calls as are never pruned."""
    entries: list[TranscriptEntry] = [user("go"), assistant("", "c0"), first]
    for call in ("c1", "c2", "c3"):
        entries += [assistant("", call), result(call)]
    return entries


def test_a_result_with_an_image_is_never_pruned() -> None:
    entries = steps(with_files("c0", "x" * 9000, IMAGE))
    assert pruned(entries) == entries


def test_a_trimmed_result_keeps_its_file_and_a_cleared_one_names_it() -> None:
    entries = steps(with_files("c0", "x" * 9000, FILE))
    trimmed = pruned(entries, hardClear={"enabled": False})[2]
    assert isinstance(trimmed, ToolResultEntry)
    assert list(trimmed.files) == [FILE]
    assert len(trimmed.text) < 9000
    cleared = pruned(entries, hardClear={"placeholder": "(gone)"})[2]
    assert isinstance(cleared, ToolResultEntry)
    assert cleared.text == f"(gone)\n[attached file: d.zip (application/zip) at {FILE.path}]"
    assert not cleared.files


def test_where_cutting_text_is_not_enough_the_oldest_images_are_only_named() -> None:
    estimator = Estimator("openai", "gpt-4o", Calibration())
    entries: list[TranscriptEntry] = [user(), assistant("", "c0", "c1"), with_files("c0", "see", IMAGE)]
    entries.append(with_files("c1", "see", IMAGE))
    budget = IMAGE_TOKENS + 500
    shown = cut_results(entries, budget, 100_000, estimator.entry)
    assert [len(entry.files) for entry in shown] == [0, 0, 0, 1]
    assert sum(map(estimator.entry, shown)) <= budget
    assert cut_results(entries, 10_000, 100_000, estimator.entry) is entries


def test_a_summariser_learns_which_files_there_were() -> None:
    assert render(with_files("c0", "see", IMAGE)) == (
        f"[read returned]\nsee\n[attached file: p.png (image/png) at {IMAGE.path}]"
    )


def test_another_image_is_another_outcome() -> None:
    """A screenshot that changes is progress, also if the words beside it are the same."""
    other = IMAGE.model_copy(update={"path": "/w/.openclaw/media/3-p.png"})

    def outcome(*files: ImageBlock) -> str:
        entries: list[TranscriptEntry] = [assistant("", "c0"), with_files("c0", "see", *files)]
        for entry in entries:
            entry.run_id = "r"
        return past_calls(entries, "r", 10)[0].outcome

    assert len({outcome(), outcome(IMAGE), outcome(other)}) == 3
