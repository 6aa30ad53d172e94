"""What a conversation asks, as requests to the API. Both readers, on asyncio and blocking, carry these out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.client.protocol import (
    ReadBatches,
    ReadChildren,
    ReadLastEventId,
    ReadOpenBatches,
    ReadReceipt,
    ReadRun,
    ReadState,
    ReadWorkers,
    Request,
)
from openclaw_workers.domain.ids import BatchId, SessionKey
from openclaw_workers.remote.address import path_of
from openclaw_workers.remote.records import batch_of, receipt_of, run_of, state_of, worker_of

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """One GET, and what its answer means."""

    path: str
    parse: Callable[[Json], Any]
    query: Mapping[str, Any] = field(default_factory=dict)


def read_of(request: Request[Any]) -> Read:  # noqa: PLR0911  # one return for each request
    """The request for everything but events and waiting."""
    match request:
        case ReadLastEventId(session):
            return _progress(session, lambda answer: answer["lastEventId"])
        case ReadReceipt(session, message):
            return _progress(session, _receipt, message=message)
        case ReadRun(run):
            return Read(path_of("runs", run), run_of)
        case ReadState(session):
            return _progress(session, state_of)
        case ReadWorkers():
            return Read("/status", lambda answer: [worker_of(each) for each in answer["workers"]])
        case ReadChildren(session):
            return _progress(session, lambda answer: [run_of(each) for each in answer["children"]], children=True)
        case ReadOpenBatches(session):
            return _progress(session, lambda answer: [BatchId(each) for each in answer["openBatches"]])
        case ReadBatches(ids):
            return Read("/batches", _batches, {"ids": ",".join(sorted(ids))})
    raise AssertionError(f"no reader for {request}")


def _progress(session: SessionKey, parse: Callable[[Json], Any], **query: Any) -> Read:
    return Read(path_of("sessions", session, "progress"), parse, query)


def _receipt(answer: Json) -> Any:
    return receipt_of(answer["receipt"]) if answer["receipt"] else None


def _batches(answer: Json) -> Any:
    return {batch.id: batch for batch in map(batch_of, answer["batches"])}
