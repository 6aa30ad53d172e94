"""Chat channels, access tokens, prompts and exports through the HTTP API."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openclaw_workers.cli.backend.protocol import Json, Transcript
from openclaw_workers.cli.backend.remote_calls import PAGE, RemoteCalls
from openclaw_workers.errors import NotFound
from openclaw_workers.remote.address import path_of

if TYPE_CHECKING:
    from openclaw_workers.domain.session_row import SessionEntry


class RemoteChannels(RemoteCalls):
    def channels(self) -> Json:
        return self._get("/channels")

    def channel(self, account: str) -> Json:
        return self._get(path_of("channels", *account.split("/", 1)))

    def check_channel(self, account: str, chat: str | None) -> Json:
        return self._post("/channels/test", account=account, to=chat)

    def tokens(self) -> Json:
        return self._get("/tokens")

    def create_token(self, scope: str, *, name: str, agent: str | None, person: str | None) -> Json:
        return self._post("/tokens", scope=scope, name=name, agent=agent, person=person)

    def revoke_token(self, token: str) -> Json:
        return self._request("DELETE", path_of("tokens", token))

    def login_link(self, token: str) -> Json:
        """The link leads to the address that we know; the ingress may be behind another."""
        answer = self._post(path_of("tokens", token, "link"))
        found = urlsplit(answer["url"])
        return {**answer, "url": f"{self._transport.address.url.rstrip('/')}{found.path}?{found.query}"}

    def prompt(self, agent: str) -> Json:
        return self._get(path_of("agents", agent, "prompt"))

    def export_rows(self, agent: str | None, session: str | None) -> tuple[list[SessionEntry], int]:
        from openclaw_workers.domain.session_row import SessionEntry

        if session is not None:
            keys, left_out = [self._get("/sessions/resolve", key=session)["sessionKey"]], 0
        else:
            keys, left_out = self._keys(agent)
        found = []
        for key in keys:
            try:
                found.append(SessionEntry.model_validate(self._get(path_of("sessions", key))["row"]))
            except NotFound:
                continue  # it was deleted meanwhile
        return [row for row in found if agent is None or row.agent_id == agent.lower()], left_out

    def export_transcript(self, row: SessionEntry) -> Transcript:
        entries = self._pages(path_of("sessions", row.session_key, "history"), None)
        lines = [json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries]
        return Transcript(self._workspaces.get(row.agent_id, ""), lines, 0)

    @cached_property
    def _workspaces(self) -> dict[str, str]:
        return {each["agentId"]: each["workspace"] for each in self._get("/agents")["agents"]}

    def _keys(self, agent: str | None) -> tuple[list[str], int]:
        """Every session, and how many cannot be read. One that is used meanwhile is listed twice, and counts once."""
        found: dict[str, None] = {}
        offset = 0
        while True:
            answer = self._get("/sessions", limit=PAGE, offset=offset or None, agentId=agent)
            found.update(dict.fromkeys(each["sessionKey"] for each in answer["sessions"]))
            if len(answer["sessions"]) < PAGE:
                return list(found), answer["unreadable"]
            # By offset and not by a cursor: sessions are listed by their last use, which changes meanwhile.
            offset += PAGE
