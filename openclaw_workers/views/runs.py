"""A run as JSON. Whatever shows a run, a sub-agent or an answer takes the run's fields from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openclaw_workers.domain.runs import ModelAttempt, Run, RunState
from openclaw_workers.domain.transcript import Usage

RUN = (
    "runId",
    "sessionKey",
    "sessionId",
    "agentId",
    "lane",
    "kind",
    "authority",
    "parentRunId",
    "label",
    "title",
    "depth",
    "batch",
    "settledAt",
    "state",
    "reason",
    "attempt",
    "attempts",
    "parked",
    "waitsFor",
    "covers",
    "model",
    "modelAttempts",
    "fallbackFrom",
    "queuedAt",
    "startedAt",
    "endedAt",
    "deadlineAt",
    "usage",
    "cost",
    "text",
    "suppressed",
    "error",
)
"""The fields of a run in lists and on its own; docs/cli.md describes them."""


def run_json(run: Run) -> dict[str, Any]:
    return pick(run, RUN)


def pick(run: Run, names: Iterable[str], renamed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Some fields of a run, in this order; `renamed` maps the name asked for to the name of the field."""
    fields = _fields(run)
    return {name: fields[(renamed or {}).get(name, name)] for name in names}


def usage_json(usage: Usage) -> dict[str, int]:
    return {**usage.model_dump(by_alias=True), "total": usage.total}


def host_of(run: Run) -> str:
    """`host/pid` of the worker that carries the run, or carried it last. Empty while the run waits."""
    if run.state in (RunState.QUEUED, RunState.PARKED) or not run.attempts:
        return ""
    return run.attempts[-1].worker.rpartition("/")[0]


def _fields(run: Run) -> dict[str, Any]:
    """Every field under its JSON name. This is the only place where a run becomes JSON."""
    return {
        "runId": run.id,
        "sessionKey": run.session_key,
        "sessionId": run.session_id,
        "agentId": run.agent_id,
        "lane": run.lane,
        "kind": run.kind,
        "authority": run.authority,
        **_tree_fields(run),
        "state": run.state,
        "reason": run.reason,
        "outcome": run.outcome,
        "endedReason": run.ended_reason,
        "attempt": run.attempt,
        "attempts": [attempt.model_dump() for attempt in run.attempts],
        "parked": [{"from": since, "to": until} for since, until in run.parked_spans],
        "host": host_of(run) or None,
        "waitsFor": run.waits_for if run.waits_for and not run.state.is_final else None,
        "covers": run.covers,
        "model": run.model,
        "modelAttempts": [_attempt_json(each) for each in run.model_attempts],
        "fallbackFrom": run.fallback_from,
        "queuedAt": run.queued_at,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "settledAt": run.settled_at,
        "deadlineAt": run.deadline_at,
        "usage": usage_json(run.usage),
        "tokens": run.usage.total,
        "cost": run.cost,
        "text": run.text,
        "suppressed": run.suppressed,
        "settledText": run.text if run.settled_at is not None else None,
        "partial": run.partial,
        "error": run.error or None,
    }


def _attempt_json(attempt: ModelAttempt) -> dict[str, Any]:
    return {**attempt.model_dump(mode="json"), "description": attempt.description}


def _tree_fields(run: Run) -> dict[str, Any]:
    """Where a sub-agent's run belongs, and what it was spawned with."""
    return {
        "requesterSessionKey": run.requester_session_key,
        "requesterSessionId": run.requester_session_id,
        "controllerSessionKey": run.controller_session_key,
        "rootSessionKey": run.root_session_key,
        "parentRunId": run.parent_run_id,
        "batch": run.batch,
        "batchIndex": run.batch_index,
        "label": run.label or None,
        "title": run.title or None,
        "task": run.task,
        "depth": run.depth,
        "role": run.role,
        "cleanup": run.cleanup,
        "spawnMode": run.spawn_mode,
        "announce": run.announce,
        "deliver": run.deliver,
        "wakeOnDescendantSettle": run.wake_on_descendant_settle,
        "metadata": run.metadata,
    }
