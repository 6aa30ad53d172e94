"""A sub-agent's run as people and programs see it, with the way of its result to whoever asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw_workers.cli.conversation import usage_json
from openclaw_workers.cli.output import age, table
from openclaw_workers.cli.render.branches import short
from openclaw_workers.domain.ids import BatchId, RunId
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch, BatchState
from openclaw_workers.views.runs import shown, took
from openclaw_workers.views.trees import carrier, delivery


def delivery_json(batch: Batch | None) -> dict[str, Any] | None:
    if batch is None:
        return None
    return {
        "batch": batch.id,
        "state": batch.state,
        "mode": batch.mode,
        "members": batch.members,
        "settledAt": batch.settled_at,
        "announcedAt": batch.announced_at,
        "tries": batch.tries,
        "lastError": batch.last_error or None,
    }


def subagent_json(run: Run, batch: Batch | None, number: int | None = None) -> dict[str, Any]:
    """The record of a sub-agent's run; docs/cli.md lists the fields."""
    return {
        "number": number,
        "runId": run.id,
        "childSessionKey": run.session_key,
        "childSessionId": run.session_id,
        "requesterSessionKey": run.requester_session_key,
        "requesterSessionId": run.requester_session_id,
        "controllerSessionKey": run.controller_session_key,
        "rootSessionKey": run.root_session_key,
        "parentRunId": run.parent_run_id,
        "runKind": run.kind,
        "lane": run.lane,
        "agentId": run.agent_id,
        "label": run.label,
        "task": run.task,
        "depth": run.depth,
        "role": run.role,
        "state": run.state,
        "outcome": run.outcome,
        "endedReason": run.ended_reason,
        "error": run.error or None,
        "createdAt": run.queued_at,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "settledAt": run.settled_at,
        "deadlineAt": run.deadline_at,
        "cleanup": run.cleanup,
        "spawnMode": run.spawn_mode,
        "announce": run.announce,
        "deliver": run.deliver,
        "wakeOnDescendantSettle": run.wake_on_descendant_settle,
        "metadata": run.metadata,
        "attempt": run.attempt,
        "attempts": [attempt.model_dump() for attempt in run.attempts],
        "model": run.model,
        "usage": usage_json(run.usage),
        "cost": run.cost,
        "frozenResultText": run.text if run.settled_at is not None else None,
        "partialResultText": run.partial,
        "batch": run.batch,
        "batchIndex": run.batch_index,
        "delivery": delivery_json(batch),
    }


def is_open(run: Run, batches: dict[BatchId, Batch]) -> bool:
    """It has not settled, or nobody has got its result yet."""
    batch = batches.get(run.batch) if run.batch else None
    return run.settled_at is None or (
        batch is not None and (batch.state.is_pending or batch.state is BatchState.BLOCKED)
    )


def subagent_table(found: Sequence[tuple[int, Run]], batches: dict[BatchId, Batch], numbers: dict[RunId, int]) -> str:
    """Numbered as the other commands take them."""
    head = ("#", "LABEL", "STATE", "RESULT", "PARENT", "HOST", "TOKENS", "TOOK", "SPAWNED", "RUN")
    rows = [
        (
            number,
            short(run.label),
            run.state,
            delivery(batches.get(run.batch) if run.batch else None),
            _parent(run, numbers),
            carrier(run),
            run.usage.total,
            took(run),
            age(run.queued_at),
            run.id,
        )
        for number, run in found
    ]
    return table(head, rows, right=("#", "TOKENS", "TOOK"))


def _parent(run: Run, numbers: dict[RunId, int]) -> str:
    number = numbers.get(run.parent_run_id) if run.parent_run_id else None
    return f"#{number}" if number else str(run.requester_session_key or "")


def lineage(run: Run, batch: Batch | None) -> list[tuple[str, object]]:
    """Where a child stands in its tree, one fact per line; nothing for other runs."""
    if not run.is_child:
        return []
    return [
        ("label", run.label),
        ("task", run.task),
        ("spawned by", f"{run.parent_run_id} in {run.requester_session_key}"),
        ("depth", f"{run.depth} ({run.role})" if run.role else run.depth),
        ("outcome", f"{run.outcome} ({run.ended_reason})" if run.outcome else None),
        ("result", _way(run, batch)),
        ("batch", f"{run.batch}, {batch.mode}" if batch else run.batch),
        ("metadata", run.metadata),
    ]


def subagent_shown(run: Run, batch: Batch | None) -> list[tuple[str, object]]:
    about = shown(run)
    return [
        *about[:1],
        *lineage(run, batch),
        *about[1:],
        ("controller", run.controller_session_key if run.controller_session_key != run.requester_session_key else None),
        ("mode", f"{run.spawn_mode}, cleanup {run.cleanup}, deliver {'yes' if run.deliver else 'no'}"),
        ("said", run.text if run.outcome == "ok" or not run.partial else run.partial),
    ]


def _way(run: Run, batch: Batch | None) -> str:
    """How the announce stands, and what to do about one that does not get through."""
    if batch is None:
        return ""
    if batch.state is BatchState.RUNNING and run.settled_at is None:
        return "not there yet"
    error = f" after {batch.tries} tries: {batch.last_error}" if batch.last_error and batch.tries else ""
    told = {
        BatchState.RUNNING: f"waits for the others of its batch of {len(batch.members)}",
        BatchState.SETTLED: f"pending{error}",
        BatchState.BLOCKED: f"blocked{error}; `ocw subagents retry {batch.id}` tries again",
        BatchState.DELIVERED: f"delivered to {batch.parent_session} {age(batch.announced_at)}",
    }
    return told.get(batch.state, batch.state)
