"""Sessions as JSON answers: the list, one session, its transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from openclaw_workers.clock import now_ms
from openclaw_workers.config.resolve import resolve_agent, resolve_agent_id
from openclaw_workers.domain.events import SessionState
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.store.llm.ledger import Total
from openclaw_workers.views.sessions import session_cost, session_details_json, session_json

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.queries.installation import Installation

DAY_MS = 86_400_000

Listed = list[tuple[SessionEntry, SessionState]]


def recent_sessions(
    installation: Installation,
    limit: int,
    agent_id: str | None = None,
    *,
    label: str | None = None,
    key: str | None = None,
    offset: int = 0,
) -> Listed:
    """Sessions, last used first, without the first `offset`.

    Raises:
        NotFound: there is no such agent. One with sessions may have been removed from the configuration.
    """
    reader = installation.stores.reader
    wanted = (
        row
        for row in reader.each_session()
        if (agent_id is None or row.agent_id == agent_id.lower())
        and (label is None or row.label == label)
        and (key is None or key.lower() in row.session_key.lower())
    )
    found = [(row, reader.control(row.session_key)) for row in islice(wanted, offset, offset + limit)]
    # An agent that was removed from the configuration may still have sessions, so it is checked only without any.
    if agent_id is not None and not found and not offset:
        check_agent(installation, agent_id)
    return found


def check_agent(installation: Installation, agent_id: str) -> None:
    resolve_agent_id(installation.loaded.settings, explicit=agent_id)


def sessions_answer(installation: Installation, found: Listed) -> dict[str, Any]:
    main_key = installation.session_rules.main_key
    listed = [session_json(row, control, main_key) for row, control in found]
    return {"ok": True, "sessions": listed, "unreadable": installation.stores.reader.unreadable}


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """One session with everything but its transcript."""

    key: SessionKey
    row: SessionEntry
    control: SessionState
    receipts: dict[str, int]
    damaged: Sequence[dict[str, Any]]
    spent: Total
    thinking_default: str | None

    def as_json(self, main_key: str) -> dict[str, Any]:
        return session_details_json(
            self.row,
            self.control,
            main_key,
            receipts=self.receipts,
            damaged=self.damaged,
            spent=self.spent,
            thinking_default=self.thinking_default,
        )


def session_details(installation: Installation, wanted: str) -> SessionDetails:
    key, row = find_session(installation, wanted)
    reader = installation.stores.reader
    return SessionDetails(
        key,
        row,
        reader.control(key),
        dict(installation.overview.receipts(key)),
        [dict(note) for note in reader.quarantined() if key in note["where"].split()],
        _cost(installation, row),
        _thinking_default(installation, row.agent_id),
    )


def transcript_page(
    installation: Installation, session: SessionKey, limit: int | None, before: int | None = None
) -> tuple[list[dict[str, Any]], int]:
    """The newest entries, or those before a position, oldest first; and the position of the first one."""
    end = installation.stores.reader.transcript_length(session)
    if before is not None:
        end = min(end, before)
    start = max(0, end - limit) if limit else 0
    raws, _ = installation.stores.reader.raw_transcript(session, start, end - 1) if end > start else ([], 0)
    return [json.loads(raw) for raw in raws], start


def _cost(installation: Installation, row: SessionEntry) -> Total:
    """Read the days of the ledger since the session was created or last reset."""
    # Two more: the day on which it started, and one for a clock or zone that differs.
    days = 2 + (now_ms() - row.session_started_at) // DAY_MS
    return session_cost(row, installation.stores.ledger.calls(days))


def _thinking_default(installation: Installation, agent_id: str) -> str | None:
    try:
        return resolve_agent(installation.loaded.settings, agent_id).thinking_default
    except NotFound:
        return None  # the agent is no longer configured
