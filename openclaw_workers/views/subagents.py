"""A sub-agent's run as JSON, with the delivery of its result to the session that spawned it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw_workers.domain.ids import BatchId, RunId
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch, BatchState
from openclaw_workers.views.runs import pick

SUBAGENT = (
    "runId",
    "childSessionKey",
    "childSessionId",
    "requesterSessionKey",
    "requesterSessionId",
    "controllerSessionKey",
    "rootSessionKey",
    "parentRunId",
    "runKind",
    "lane",
    "agentId",
    "label",
    "task",
    "depth",
    "role",
    "state",
    "outcome",
    "endedReason",
    "error",
    "createdAt",
    "startedAt",
    "endedAt",
    "settledAt",
    "deadlineAt",
    "cleanup",
    "spawnMode",
    "announce",
    "deliver",
    "wakeOnDescendantSettle",
    "metadata",
    "attempt",
    "attempts",
    "model",
    "usage",
    "cost",
    "frozenResultText",
    "partialResultText",
    "batch",
    "batchIndex",
)
"""docs/cli.md describes them."""
OF_RUN = ("reason", "covers", "modelAttempts", "fallbackFrom", "text")
"""What is shown of one sub-agent besides."""
OUTCOME = ("runId", "childSessionKey", "label", "state", "outcome", "endedReason")
"""How a sub-agent ended, beside the answer of the session that spawned it."""
_RENAMED = {
    "childSessionKey": "sessionKey",
    "childSessionId": "sessionId",
    "runKind": "kind",
    "createdAt": "queuedAt",
    "frozenResultText": "settledText",
    "partialResultText": "partial",
}


def subagent_json(run: Run, batch: Batch | None, numbers: Mapping[RunId, int]) -> dict[str, Any]:
    """`numbers` are those under which `ocw subagents list` shows them."""
    parent = numbers.get(run.parent_run_id) if run.parent_run_id else None
    fields = pick(run, SUBAGENT, _RENAMED)
    return {"number": numbers.get(run.id), "parentNumber": parent, **fields, "delivery": delivery_json(batch)}


def subagent_details_json(run: Run, batch: Batch | None, numbers: Mapping[RunId, int]) -> dict[str, Any]:
    """One sub-agent with what its run has besides."""
    return {**subagent_json(run, batch, numbers), **pick(run, OF_RUN)}


def outcome_json(run: Run) -> dict[str, Any]:
    return pick(run, OUTCOME, _RENAMED)


def delivery_json(batch: Batch | None) -> dict[str, Any] | None:
    if batch is None:
        return None
    return {
        "batch": batch.id,
        "sessionKey": batch.parent_session,
        "state": batch.state,
        "mode": batch.mode,
        "members": batch.members,
        "settledAt": batch.settled_at,
        "announcedAt": batch.announced_at,
        "tries": batch.tries,
        "lastError": batch.last_error or None,
    }


def is_open(run: Run, batches: dict[BatchId, Batch]) -> bool:
    """The run has not settled, or its result has not been delivered."""
    batch = batches.get(run.batch) if run.batch else None
    return run.settled_at is None or (
        batch is not None and (batch.state.is_pending or batch.state is BatchState.BLOCKED)
    )
