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
from openclaw_workers.store.llm.ledger import Ledger, Total
from openclaw_workers.views.sessions import session_cost, session_details_json, session_json

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.queries.installation import Installation

DAY_MS = 86_400_000

Listed = list[tuple[SessionEntry, SessionState]]


def recent_sessions(
    place: Installation,
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
    reader = place.stores.reader
    wanted = (
        row
        for row in reader.each_session()
        if (agent_id is None or row.agent_id == agent_id.lower())
        and (label is None or row.label == label)
        and (key is None or key.lower() in row.session_key.lower())
    )
    found = [(row, reader.control(row.session_key)) for row in islice(wanted, offset, offset + limit)]
    if agent_id is not None and not found and not offset:
        check_agent(place, agent_id)
    return found


def check_agent(place: Installation, agent_id: str) -> None:
    resolve_agent_id(place.loaded.settings, explicit=agent_id)


def sessions_answer(place: Installation, found: Listed) -> dict[str, Any]:
    main_key = place.session_rules.main_key
    listed = [session_json(row, control, main_key) for row, control in found]
    return {"ok": True, "sessions": listed, "unreadable": place.stores.reader.unreadable}


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


def session_details(place: Installation, wanted: str) -> SessionDetails:
    key, row = find_session(place, wanted)
    reader = place.stores.reader
    return SessionDetails(
        key,
        row,
        reader.control(key),
        dict(place.overview.receipts(key)),
        [dict(note) for note in reader.quarantined() if key in note["where"].split()],
        _cost(place, row),
        _thinking_default(place, row.agent_id),
    )


def transcript_page(
    place: Installation, session: SessionKey, limit: int | None, before: int | None = None
) -> tuple[list[dict[str, Any]], int]:
    """The newest entries, or those before a position, oldest first; and the position of the first one."""
    end = place.stores.reader.transcript_length(session)
    if before is not None:
        end = min(end, before)
    start = max(0, end - limit) if limit else 0
    raws, _ = place.stores.reader.raw_transcript(session, start, end - 1) if end > start else ([], 0)
    return [json.loads(raw) for raw in raws], start


def _cost(place: Installation, row: SessionEntry) -> Total:
    """Read the days of the ledger since the session was created or last reset."""
    days = 2 + (now_ms() - row.session_started_at) // DAY_MS
    return session_cost(row, Ledger(place.stores.redis, place.stores.keys).calls(days))


def _thinking_default(place: Installation, agent_id: str) -> str | None:
    try:
        return resolve_agent(place.loaded.settings, agent_id).thinking_default
    except NotFound:
        return None  # the agent is no longer configured
