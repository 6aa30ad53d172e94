"""What a run wrote into the transcript of its session, or into the archive of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from openclaw_workers.domain.transcript import TranscriptEntry, load_entry
from openclaw_workers.engine.archives.find import ArchiveFinder
from openclaw_workers.engine.place_client import PlaceClient

if TYPE_CHECKING:
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.queries.installation import Installation
    from openclaw_workers.store.reader import Reader

CLOCK_SKEW_MS = 60_000
"""Redis dates some entries and workers date others."""


def journal_of(reader: Reader, run: Run) -> list[TranscriptEntry]:
    """The run's entries. Reads the transcript backwards and stops where the run began."""
    found: list[TranscriptEntry] = []
    for page in reader.pages_back(run.session_key):
        found = [entry for entry in page if entry.run_id == run.id] + found
        # Older pages cannot hold entries of this run. The margin covers clocks that differ.
        if page and page[0].timestamp < (run.started_at or run.queued_at) - CLOCK_SKEW_MS:
            break
    return found


def archived_journal_of(installation: Installation, run: Run) -> list[TranscriptEntry]:
    """The run's entries in the archive of a session that was reset or deleted, wherever that is.

    Raises:
        ArchiveUnreachable: it is at a place that does not answer.
    """
    finder = ArchiveFinder(
        installation.stores.archives, PlaceClient(installation.stores.place_requests), installation.loaded.state_dir
    )
    entries = map(_readable, finder.lines_of(run))
    return [entry for entry in entries if entry is not None and entry.run_id == run.id]


def session_state(reader: Reader, run: Run) -> Literal["live", "reset", "deleted"]:
    """Whether the session still has the id under which the run ran, was reset since, or is deleted."""
    row = reader.row(run.session_key)
    if not row:
        return "deleted"
    return "live" if run.session_id in (None, row.get("sessionId")) else "reset"


def _readable(line: str) -> TranscriptEntry | None:
    try:
        return load_entry(line)
    except ValidationError:
        return None
