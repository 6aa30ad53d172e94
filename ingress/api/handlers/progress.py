"""How a message and what it started stand, for clients that follow them, and where a message would go."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from ingress.api.access import session_key_of
from ingress.api.models.answers import Shape
from ingress.api.models.inputs import Name
from ingress.api.table import Call, Input, NoInput
from ingress.client_messages import session_of
from openclaw_workers.domain.ids import BatchId, MessageId
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.tree import Batch
from openclaw_workers.views.runs import run_json

MOST_BATCHES = 200

# A pattern that counts up to 100 of \w, which has many letters, would take 18 MB of memory.
Ids = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+(,[A-Za-z0-9_-]+)*$", max_length=20_000)]


class ProgressQuery(Input):
    message: Name | None = None
    """Also how this message stands."""
    children: bool = False
    """Also the runs that the session has spawned."""


class BatchesQuery(Input):
    ids: Ids
    """Batch ids, separated by commas."""


class AddressQuery(Input):
    session_key: Name = ""
    """A whole or short key."""
    agent_id: Name = ""
    thread_id: Name = ""


class ReceiptShape(Shape):
    state: str
    run_id: str | None
    """The run that answers it, or has."""
    reason: str | None
    accepted_at: int
    at: int


class ProgressAnswer(Shape):
    ok: bool
    session_key: str
    state: str
    run_id: str | None
    worker: str | None
    lease_until: int | None
    waiting: int
    waits_for: str | None
    """Where the files of its agent are, if no worker takes turns there; null otherwise."""
    last_event_id: str
    open_batches: list[str]
    """Batches of sub-agents whose results the session has not been given."""
    receipt: ReceiptShape | None
    children: list[dict[str, Any]] | None


class BatchesAnswer(Shape):
    ok: bool
    batches: list[dict[str, Any]] = Field(default_factory=list)


class AddressAnswer(Shape):
    ok: bool
    session_key: str


def get_progress(call: Call[ProgressQuery, NoInput]) -> dict[str, Any]:
    """Also of a session that is gone: its messages are on record for a day."""
    key, stores = session_key_of(call), call.context.stores
    control = stores.reader.control(key)
    message = call.query.message
    receipt = stores.inbox.receipt(key, MessageId(message)) if message else None
    return {
        "ok": True,
        "sessionKey": key,
        "state": control.state,
        "runId": control.run or None,
        "worker": control.owner or None,
        "leaseUntil": control.lease_until or None,
        "waiting": control.waiting,
        "waitsFor": control.waits_for or None,
        "lastEventId": stores.reader.last_event_id(key),
        "openBatches": stores.tree.batches(key),
        "receipt": _receipt_json(receipt) if receipt else None,
        "children": [run_json(run) for run in stores.tree.children(key)] if call.query.children else None,
    }


def get_batches(call: Call[BatchesQuery, NoInput]) -> dict[str, Any]:
    ids = [BatchId(each) for each in call.query.ids.split(",")[:MOST_BATCHES]]
    found = call.context.trees.batches(ids).values()
    return {"ok": True, "batches": [_batch_json(each) for each in found if call.principal.may_see(each.parent_session)]}


def get_address(call: Call[AddressQuery, NoInput]) -> dict[str, Any]:
    query = call.query
    key = session_of(
        call.context, call.principal, wanted=query.session_key, agent=query.agent_id, thread=query.thread_id
    )
    return {"ok": True, "sessionKey": key}


def _receipt_json(receipt: Receipt) -> dict[str, Any]:
    return {
        "state": receipt.state,
        "runId": receipt.run,
        "reason": receipt.reason,
        "acceptedAt": receipt.accepted_at,
        "at": receipt.at,
    }


def _batch_json(batch: Batch) -> dict[str, Any]:
    return {
        "batch": batch.id,
        "state": batch.state,
        "mode": batch.mode,
        "sessionKey": batch.parent_session,
        "sessionId": batch.parent_session_id,
        "runId": batch.parent_run,
        "rootSessionKey": batch.root,
        "members": batch.members,
        "createdAt": batch.created_at,
        "settledAt": batch.settled_at,
        "announcedAt": batch.announced_at,
        "tries": batch.tries,
        "lastError": batch.last_error or None,
    }
