"""Past conversations that a turn may see, searched by words and meaning: the tool sessions_search."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.engine.sessions.visibility import Visibility
from openclaw_workers.errors import BadInput, OpenClawError
from openclaw_workers.memory import scopes
from openclaw_workers.store.reader import Reader
from openclaw_workers.tools.sessions.inputs import SessionsSearchInput

SearchMemory = Callable[[str, scopes.Visibility, dict[str, Any]], dict[str, Any]]
"""Searches the memory index; raises TransientError if it cannot be reached."""
Find = Callable[[str], SessionKey]
MOST_SESSIONS = 1_000


class SessionSearch:
    def __init__(
        self, *, search: SearchMemory, reader: Reader, viewer: SessionKey, sight: Visibility, find: Find
    ) -> None:
        """`find` turns what the model calls a session into its key."""
        self._search = search
        self._reader = reader
        self._viewer = viewer
        self._sight = sight
        self._find = find

    def search(self, args: SessionsSearchInput) -> str:
        try:
            keys = self._seen() if args.session_key is None else [self._named(args.session_key)]
            visible = scopes.Visibility(agent_of(self._viewer), tuple(map(scopes.session_scope, keys)), can_write=False)
            found = self._search(args.query, visible, {"maxResults": args.limit, "sources": ["sessions"]})
        except OpenClawError as error:
            return json.dumps({"status": "error", "error": error.message}, ensure_ascii=False)
        results = [
            {**each, "snippet": wrap(str(each["snippet"]), f"session {each.get('sessionKey', '')}")}
            for each in found["results"]
        ]
        about = {name: found[name] for name in ("mode", "note") if found.get(name)}
        return json.dumps({"status": "ok", "results": results, **about}, ensure_ascii=False)

    def _named(self, wanted: str) -> SessionKey:
        key = self._find(wanted)
        if key not in self._seen():
            raise BadInput(f"no session {wanted!r} that you may search")
        return key

    def _seen(self) -> list[SessionKey]:
        """Sessions of this agent that the turn may see. A group and a direct chat of its own see only themselves."""
        if scopes.is_group(self._viewer) or scopes.is_peer(self._viewer):
            return [self._viewer]
        agent, keys = agent_of(self._viewer), {self._viewer: None}
        for row in self._reader.each_session():
            hidden = row.agent_id != agent or self._sight.denial(row.session_key, {"spawnedBy": row.spawned_by or ""})
            if not hidden:
                keys[row.session_key] = None
            if len(keys) >= MOST_SESSIONS:
                break
        return list(keys)
