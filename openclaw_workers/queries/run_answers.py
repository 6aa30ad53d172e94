"""Runs as JSON answers: the list, and one run with its journal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import TranscriptEntry, dump_entry
from openclaw_workers.domain.tree import Batch
from openclaw_workers.engine.archives.find import ArchiveUnreachable
from openclaw_workers.errors import ConflictError, TransientError
from openclaw_workers.queries.journals import archived_journal_of, journal_of, session_state
from openclaw_workers.queries.runs import find_run
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.store.run_texts import text_of_run
from openclaw_workers.views.errors import error_json
from openclaw_workers.views.runs import pick, run_json
from openclaw_workers.views.subagents import delivery_json

if TYPE_CHECKING:
    from openclaw_workers.engine.control import Control
    from openclaw_workers.queries.installation import Installation


OF_CHILD = ("requesterSessionKey", "task", "role", "outcome", "endedReason", "metadata")
CHILD = ("runId", "label", "state")


def recent_runs(
    installation: Installation,
    limit: int,
    *,
    session: str | None = None,
    state: str | None = None,
    agent: str | None = None,
) -> list[Run]:
    """Runs, newest first."""
    key = find_session(installation, session)[0] if session is not None else None
    wanted = (
        run
        for run in installation.stores.reader.each_run()
        if (key is None or run.session_key == key)
        and (state is None or run.state == state)
        and (agent is None or run.agent_id == agent)
    )
    return list(islice(wanted, limit))


def runs_answer(installation: Installation, found: list[Run]) -> dict[str, Any]:
    return {"ok": True, "runs": [run_json(run) for run in found], "unreadable": installation.stores.reader.unreadable}


@dataclass(frozen=True, slots=True)
class RunDetails:
    run: Run
    journal: list[TranscriptEntry]
    is_archived: bool
    """The journal is from the archive of a session that was reset or deleted."""
    problem: TransientError | None
    """Why the journal could not be read from its archive."""
    session_state: str
    """`live`, `reset` or `deleted`."""
    children: list[Run]
    batch: Batch | None

    def as_json(self) -> dict[str, Any]:
        return {
            **run_json(self.run),
            **pick(self.run, OF_CHILD),
            "delivery": delivery_json(self.batch),
            "children": [each.id for each in self.children],
            "childRuns": [pick(each, CHILD) for each in self.children],
            "sessionState": self.session_state,
            **pick(self.run, ["partial"]),
            "archived": self.is_archived,
            "journalProblem": error_json(self.problem) if self.problem else None,
            "journal": journal_json(self.journal),
        }


def run_details(installation: Installation, wanted: str) -> RunDetails:
    run = find_run(installation, wanted)
    journal = journal_of(installation.stores.reader, run)
    state = session_state(installation.stores.reader, run)
    # A reset moves the transcript into an archive, and the run's entries with it.
    is_archived = not journal and state != "live"
    problem = None
    if is_archived:
        try:
            journal = archived_journal_of(installation, run)
        # The record alone is worth showing.
        except ArchiveUnreachable as error:
            problem = error
    children = [each for each in installation.stores.tree.children(run.session_key) if each.parent_run_id == run.id]
    batch = installation.stores.tree.batch(run.batch) if run.batch else None
    if run.entry is not None and not run.text:  # it has expired in the record
        run = run.model_copy(update={"text": text_of_run(journal, run.id)})
    return RunDetails(run, journal, is_archived, problem, state, children, batch)


def stop_answer(installation: Installation, control: Control, wanted: str) -> dict[str, Any]:
    """Stop a run and what it has spawned.

    Raises:
        ConflictError: it has ended, and nothing that it spawned is active.
    """
    # Read again, because the stop has changed it.
    run = find_run(installation, wanted)
    stopped = control.stop_run(run.id)
    run = find_run(installation, wanted)
    if stopped.run is None:
        why = f"had already ended ({run.state})" if run.state.is_final else "is not the active run of its session"
        raise ConflictError(f"{run.id} {why}; nothing was stopped", hint=f"`ocw runs show {run.id}` shows details")
    return {
        "ok": True,
        "runId": run.id,
        "sessionKey": run.session_key,
        "state": run.state,
        "begun": stopped.begun,
        "cancelledMessages": stopped.cancelled,
        "stoppedSubagents": stopped.children,
    }


def journal_json(journal: list[TranscriptEntry]) -> list[dict[str, Any]]:
    return [json.loads(dump_entry(entry)) for entry in journal]
