"""Sessions: read, label, reset and delete them."""

from __future__ import annotations

import json

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json, Transcript
from openclaw_workers.config.resolve import workspace_dir
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.engine.routing.session_labels import check_label
from openclaw_workers.errors import CorruptRecord, NotFound
from openclaw_workers.queries.session_answers import check_agent, recent_sessions, session_details, sessions_answer
from openclaw_workers.queries.sessions import check_label_is_free, find_key, find_session
from openclaw_workers.views.session_trees import build_session_trees, session_tree_json


class LocalSessions(LocalPart):
    def existing_key(self, key: str) -> SessionKey:
        return find_key(self._cli, key)

    def sessions(self, limit: int, agent: str | None) -> Json:
        return sessions_answer(self._cli, recent_sessions(self._cli, limit, agent))

    def session_trees(self, key: str | None) -> Json:
        reader = self._cli.stores.reader
        wanted = find_session(self._cli, key)[0] if key is not None else None
        roots = build_session_trees(reader.each_session(500), wanted)
        found = [session_tree_json(root, reader.control, self._cli.main_key) for root in roots]
        return {"ok": True, "sessions": found, "unreadable": reader.unreadable}

    def session(self, key: str) -> Json:
        return {"ok": True, **session_details(self._cli, key).as_json(self._cli.main_key)}

    def history(self, key: str, limit: int | None) -> tuple[list[Json], int]:
        session, _ = find_session(self._cli, key)
        raws, unreadable = self._cli.stores.reader.raw_transcript(session, -limit if limit else 0)
        return [json.loads(raw) for raw in raws], unreadable

    def label_session(self, key: str, label: str | None) -> Json:
        session, _ = find_session(self._cli, key)
        wanted = check_label(label) if label is not None else ""
        check_label_is_free(self._cli, session, wanted)
        self._cli.stores.sessions.patch(session, {"label": wanted})
        return {"ok": True, "sessionKey": session, "label": wanted or None}

    def reset_session(self, key: str) -> Json:
        session, reader = find_key(self._cli, key), self._cli.stores.reader
        old = reader.session(session)
        self._cli.control.reset(session)
        new = reader.session(session)
        return {
            "ok": True,
            "sessionKey": session,
            "sessionId": new and new.session_id,
            "previousSessionId": old and old.session_id,
        }

    def delete_session(self, key: str) -> Json:
        session = find_key(self._cli, key)
        self._cli.control.delete(session)
        return {"ok": True, "sessionKey": session}

    def export_rows(self, agent: str | None, session: str | None) -> tuple[list[SessionEntry], int]:
        reader = self._cli.stores.reader
        found = reader.each_session() if session is None else [find_session(self._cli, session)[1]]
        rows = [row for row in found if agent is None or row.agent_id == agent.lower()]
        # An agent that was removed from the configuration may still have sessions.
        if agent is not None and not rows:
            check_agent(self._cli, agent)
        return rows, reader.unreadable

    def export_transcript(self, row: SessionEntry) -> Transcript:
        loaded, reader = self._cli.loaded, self._cli.stores.reader
        try:
            entries, unreadable = reader.raw_transcript(row.session_key)
        except CorruptRecord as error:
            # The other sessions are exported even if one transcript cannot be read.
            reader.quarantine(f"session {row.session_key}", error.message, "")
            entries, unreadable = [], 1
        try:
            workspace = workspace_dir(loaded.settings, row.agent_id, loaded.state_dir)
        except NotFound:
            workspace = loaded.state_dir  # the agent is no longer configured
        return Transcript(str(workspace), entries, unreadable)
