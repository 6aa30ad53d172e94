"""Records read back from the JSON of the API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic.alias_generators import to_snake

from openclaw_workers.domain.events import Event, SessionState
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch
from openclaw_workers.domain.worker_info import WorkerInfo

_OF_EVENT = frozenset(("seq", "at", "sessionKey"))


def run_of(fields: Mapping[str, Any]) -> Run:
    return Run.model_validate(_snake(fields, {"run_id": "id"}))


def receipt_of(fields: Mapping[str, Any]) -> Receipt:
    return Receipt.model_validate(_snake(fields, {"run_id": "run"}))


def batch_of(fields: Mapping[str, Any]) -> Batch:
    renamed = {
        "batch": "id",
        "session_key": "parent_session",
        "session_id": "parent_session_id",
        "run_id": "parent_run",
        "root_session_key": "root",
    }
    return Batch.model_validate(_snake(fields, renamed))


def state_of(fields: Mapping[str, Any]) -> SessionState:
    return SessionState(
        state=fields["state"],
        run=fields["runId"] or "",
        lease_until=fields["leaseUntil"] or 0,
        owner=fields["worker"] or "",
        attempt=1,
        waiting=fields["waiting"],
        waits_for=fields.get("waitsFor") or "",
    )


def worker_of(fields: Mapping[str, Any]) -> WorkerInfo:
    # The only facts that a conversation asks about.
    facts = {"lane": fields["lane"], "drain": "1" if fields["draining"] else "0"}
    return WorkerInfo(WorkerId(fields["id"]), fields["alive"], fields["beatAt"], facts)


def event_of(event_id: str, kind: str, data: str) -> Event | None:
    """An event of a session; None for what a stream sends besides."""
    try:
        body: dict[str, Any] = json.loads(data)
        rest = {name: value for name, value in body.items() if name not in _OF_EVENT}
        return Event(event_id, kind, int(body["seq"]), int(body["at"]), rest)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _snake(fields: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """Fields under the names of the record; what is null has the record's default."""
    named = {to_snake(name): value for name, value in fields.items() if value is not None}
    return {renamed.get(name, name): value for name, value in named.items()}
