"""The texts of runs: beside the record for an hour, and then in the transcript of the session.

The functions work for a blocking and for an asyncio client: one fills a pipeline, the other reads its answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import AssistantEntry, TranscriptEntry, load_entry
from openclaw_workers.store.keys import Keys

LAST_ENTRIES = 50
"""How far before a run's last entry its answer is looked for; results of calls that it left open come after it."""
ARCHIVED_ENTRIES = 200


def lacks_text(run: Run) -> bool:
    """Whether the record no longer has the whole text, or never had."""
    return run.entry is not None and run.state.is_final and (not run.text or run.shortened)


def ask_for_entries(pipe: Any, keys: Keys, run: Run) -> None:
    """What the transcript of its session id holds up to the run's last entry, or the archive of it in Redis."""
    last = run.entry or 0
    pipe.hget(keys.row(run.session_key), "sessionId")
    pipe.lrange(keys.log(run.session_key), max(0, last - LAST_ENTRIES), last)
    # The beginning of an archive may be on disk already, so places do not count there.
    pipe.lrange(keys.archive(run.session_id or ""), -ARCHIVED_ENTRIES, -1)


def with_text_from(run: Run, answers: Sequence[Any]) -> Run:
    """A run with the text that these answers hold; unchanged if they do not."""
    session_id, current, archived = answers
    raws = current if session_id == run.session_id else archived
    text = text_of_run(_readable(raws or []), run.id)
    if text is None:
        return run
    start = max(0, text.find(run.text or ""))  # what is not meant for people may stand before it
    return run.model_copy(update={"text": text[start:], "shortened": False})


def text_of_run(entries: Sequence[TranscriptEntry], run: str) -> str | None:
    """The last words of a run in these entries."""
    spoken = (entry for entry in reversed(entries) if isinstance(entry, AssistantEntry) and entry.run_id == run)
    return next((entry.text for entry in spoken if entry.text), None)


def _readable(raws: Iterable[str]) -> list[TranscriptEntry]:
    found = []
    for raw in raws:
        try:
            found.append(load_entry(raw))
        except ValidationError:
            continue  # whoever shows the transcript reports it
    return found
