"""What a parent reads of its children: facts by the runtime, and their words, marked as what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.shorten import one_line, shorten
from openclaw_workers.domain.transcript import AssistantEntry, TranscriptEntry, UserEntry
from openclaw_workers.domain.untrusted import neutralise, wrap
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.reader import Reader

RESULT_BYTES = 100_000
TASK_CHARS = 500
LOOKED_BACK = 200
"""How many of a session's last entries are searched for what its run has said."""

_CUT = re.compile(r"\n\[truncated: [\d,]+ of [\d,]+ bytes left out\]\Z")
_WORDS = {"ok": "completed", "error": "failed", "timeout": "timed out", "unknown": "lost"}


def report(results: Sequence[tuple[Run, Sequence[Run]]]) -> str:
    """The announce of one batch: each child with those of its descendants that it did not hear of itself."""
    blocks = [texts.RESULTS_HEADING, texts.RESULTS_INTRODUCTION]
    for number, (run, carried) in enumerate(results, start=1):
        blocks.append(_block(f"{number}.", run))
        blocks += [_block(f"{number}.{index}", each) for index, each in enumerate(carried, start=1)]
    blocks.append(texts.RESULTS_CLOSING)
    return "\n\n".join(blocks)


def partial_result(history: Sequence[TranscriptEntry], speaking: str = "", *, run: str | None = None) -> str:
    """The partial result of a turn that failed: its last text and its last tool call.

    With `run`, all turns of that run are searched: a child's run may have several.
    """
    said, called = speaking, ""
    for entry in reversed(history):
        if run is None and isinstance(entry, UserEntry):
            break
        if isinstance(entry, AssistantEntry) and run in (None, entry.run_id):
            said = said or entry.text
            if entry.tool_calls and not called:
                call = entry.tool_calls[-1]
                arguments = _one_line(json.dumps(call.arguments, ensure_ascii=False))
                called = texts.LAST_TOOL_CALL.format(name=call.name, arguments=arguments)
    return frozen("\n".join(part for part in (said, called) if part))


def partial_of(reader: Reader, session: SessionKey, run: RunId) -> str:
    """The partial result of a run that is ended from outside; empty if its transcript cannot be read."""
    try:
        return partial_result(reader.transcript(session, -LOOKED_BACK, -1), run=run)
    except CorruptRecord:
        return ""  # no reason not to end it


def frozen(text: str) -> str:
    """A result as it is kept: whole up to 100 KB, and visibly cut beyond; once, so that it says by how much."""
    data = text.encode()
    if len(data) <= RESULT_BYTES or len(_CUT.sub("", text).encode()) <= RESULT_BYTES:
        return text
    kept = data[:RESULT_BYTES].decode(errors="ignore")
    return kept + texts.RESULT_TRUNCATED.format(left_out=len(data) - len(kept.encode()), size=len(data))


def _block(number: str, run: Run) -> str:
    status = _WORDS.get(run.outcome or "", run.state)
    reason = "" if run.ended_reason in ("complete", "error") else f" ({run.ended_reason})"
    lines = [
        f"--- {number}",
        f"label: {_one_line(run.label or run.id)}",
        f"task: {_one_line(run.task)}",
        f"status: {status}{reason}",
    ]
    if run.outcome == "ok" and (run.cut or run.reason == "length"):
        lines.append(texts.RESULT_CUT_OFF)
    if run.error and run.outcome != "ok":
        lines.append(f"error: {_one_line(run.error)}")
    if run.metadata:
        lines.append(f"metadata: {_one_line(json.dumps(run.metadata, ensure_ascii=False))}")
    lines += [
        f"stats: {_seconds(run)} • {run.usage.total:,} tokens (in {run.usage.input:,} / out {run.usage.output:,}) "
        f"• cost ${run.cost:.4f}",
        f"session: {run.session_key} • run: {run.id}",
    ]
    if run.outcome == "ok":
        return "\n".join([*lines, *quoted("result", run.text or "")])
    return "\n".join([*lines, *quoted("partial result", run.partial or run.text or "")])


def quoted(what: str, text: str) -> list[str]:
    """Words of another session between markers that they cannot forge."""
    if not text.strip():
        return [f"{what}: none"]
    return [f"{what}:", wrap(frozen(text), what)]


def _one_line(text: str) -> str:
    return shorten(neutralise(one_line(text)), TASK_CHARS)


def _seconds(run: Run) -> str:
    if run.started_at is None or run.ended_at is None:
        return "never started"
    seconds = (run.ended_at - run.started_at) / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
