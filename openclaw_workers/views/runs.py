"""A run as people and programs see it."""

from __future__ import annotations

from typing import Any

from openclaw_workers.cli.conversation import usage_json
from openclaw_workers.cli.output import age, dollars, now_ms, span, table
from openclaw_workers.domain.runs import Attempt, ModelAttempt, Run


def run_json(run: Run) -> dict[str, Any]:
    """For programs; docs/cli.md lists the fields."""
    return {
        "runId": run.id,
        "sessionKey": run.session_key,
        "sessionId": run.session_id,
        "agentId": run.agent_id,
        "lane": run.lane,
        "kind": run.kind,
        "parentRunId": run.parent_run_id,
        "label": run.label or None,
        "depth": run.depth,
        "batch": run.batch,
        "settledAt": run.settled_at,
        "state": run.state,
        "reason": run.reason,
        "attempt": run.attempt,
        "attempts": [attempt.model_dump() for attempt in run.attempts],
        "covers": run.covers,
        "model": run.model,
        "modelAttempts": [attempt.model_dump(mode="json") for attempt in run.model_attempts],
        "fallbackFrom": run.fallback_from,
        "queuedAt": run.queued_at,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "deadlineAt": run.deadline_at,
        "usage": usage_json(run.usage),
        "cost": run.cost,
        "text": run.text,
        "error": run.error,
    }


def run_table(found: list[Run]) -> str:
    head = ("RUN", "STATE", "SESSION", "MESSAGES", "OWNERS", "TOKENS", "TOOK", "QUEUED")
    rows = [
        (run.id, run.state, run.session_key, len(run.covers), len(run.attempts), run.usage.total, took(run))
        + (age(run.queued_at),)
        for run in found
    ]
    return table(head, rows, right=("MESSAGES", "OWNERS", "TOKENS", "TOOK"))


def took(run: Run) -> str:
    if run.started_at is None:
        return "-"
    return span((run.ended_at or now_ms()) - run.started_at)


def shown(run: Run) -> list[tuple[str, object]]:
    """For people, one fact per line."""
    usage = run.usage
    cached = usage.cache_read, usage.cache_write
    return [
        ("run", run.id),
        ("state", f"{run.state} ({run.reason})" if run.reason else run.state),
        ("session", run.session_key),
        ("lane", run.lane),
        ("model", run.model),
        ("queued", age(run.queued_at)),
        ("waited", span(run.started_at - run.queued_at) if run.started_at else None),
        ("took", took(run) if run.started_at else None),
        ("covers", ", ".join(run.covers)),
        ("tokens", f"{usage.input} in, {usage.output} out" if usage.total else None),
        ("cache", f"{cached[0]} read, {cached[1]} written" if any(cached) else None),
        ("cost", dollars(run.cost) if run.cost else None),
        *((f"attempt {number}", _asked(each)) for number, each in enumerate(run.model_attempts, start=1)),
        ("fallback", f"{run.model} answered instead of {run.fallback_from}" if run.fallback_from else None),
        *((f"owner {number}", _owner(attempt)) for number, attempt in enumerate(run.attempts, start=1)),
        ("error", run.error),
    ]


def _asked(attempt: ModelAttempt) -> str:
    """A model that did not answer, and why."""
    about = [f"by {attempt.profile}" if attempt.profile else "", str(attempt.status or ""), attempt.code or ""]
    about += ["skipped" if attempt.skipped else f"after {span(attempt.milliseconds)}"]
    return f"{attempt.model}: {attempt.reason} ({', '.join(filter(None, about))}) {attempt.error}".rstrip()


def _owner(attempt: Attempt) -> str:
    host, pid = [*attempt.worker.rsplit("/", 2), ""][:2]
    return f"{host} pid {pid}, {attempt.how} {age(attempt.at)}"
