"""Who made a job, and whether they may still have jobs. A job stops when the authority of its maker is withdrawn."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT
from openclaw_workers.domain.job import Job
from openclaw_workers.domain.pairing import Subject, parse_subject
from openclaw_workers.domain.session_key import ChatType, chat_type
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.engine.access.person import is_owner
from openclaw_workers.errors import BadInput
from openclaw_workers.store.pairing import Pairings
from openclaw_workers.store.schedules import Schedules
from openclaw_workers.store.tokens import Tokens
from openclaw_workers.store.turn_records import Taken

PREFIX = "token:"
BY_HTTP = ("http", "web")


class JobCreators:
    def __init__(self, settings: Settings, pairings: Pairings, tokens: Tokens, schedules: Schedules) -> None:
        self._settings = settings
        self._pairings = pairings
        self._tokens = tokens
        self._schedules = schedules

    def of_turn(self, taken: Taken) -> str:
        """Who asked for a turn; empty for whoever uses the machine itself."""
        first = json.loads(taken.bound[0]) if taken.bound else {}
        metadata, route = first.get("metadata") or {}, first.get("route") or {}
        if firing := metadata.get("firing"):  # a scheduled turn acts for the maker of its job
            stored = self._schedules.get(str(firing).rpartition(" ")[0])
            return stored.job.maker if stored else ""
        if maker := _maker(route, str(metadata.get("senderId") or "")):
            return maker
        if first.get("kind") != "internal" or chat_type(taken.lease.session) is not ChatType.DM:
            return ""
        # Results of sub-agents and events act for whoever the session was last spoken to by.
        row = taken.row
        last = {"channel": row.get("lastChannel"), "account_id": row.get("lastAccountId"), "to": row.get("lastTo")}
        return _maker(last, str(last["to"] or ""))

    def may(self, job: Job) -> bool:
        """Whether the maker of a job is still an owner.

        Raises:
            StoreUnavailable: nobody can tell.
        """
        if not job.maker:
            return True
        if not job.maker.startswith(PREFIX):
            return self._is_owner(job.maker, job.agent_id)
        token = self._tokens.get(job.maker.removeprefix(PREFIX))
        if token is None:
            return False
        return self._is_owner(token.person, job.agent_id) if token.person else token.scope.covers(Scope.ADMIN)

    def _is_owner(self, person: str, agent_id: str) -> bool:
        try:
            return is_owner(self._settings, self._pairings, parse_subject(person), agent_id)
        except BadInput:
            return False


def _maker(route: dict[str, Any], person: str) -> str:
    channel, to = str(route.get("channel") or ""), str(route.get("to") or "")
    if channel in BY_HTTP:
        return f"{PREFIX}{to}" if to not in ("", "local") else ""
    account = str(route.get("account_id") or "") or DEFAULT_ACCOUNT
    return str(Subject(channel, account, person)) if person and channel not in ("cli", "internal", "") else ""
