"""A run as people and programs see it."""

from __future__ import annotations

from typing import Any

from openclaw_workers.cli.output import age, now_ms, span, table
from openclaw_workers.cli.talking import usage_facts
from openclaw_workers.models.runs import Attempt, Run


def run_facts(run: Run) -> dict[str, Any]:
    """For programs; docs/cli.md lists the fields."""
    return {
        "runId": run.id,
        "sessionKey": run.session_key,
        "sessionId": run.session_id,
        "agentId": run.agent_id,
        "lane": run.lane,
        "kind": run.kind,
        "parentRunId": run.parent_run_id,
        "state": run.state,
        "reason": run.reason,
        "attempt": run.attempt,
        "attempts": [attempt.model_dump() for attempt in run.attempts],
        "covers": run.covers,
        "model": run.model,
        "queuedAt": run.queued_at,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "deadlineAt": run.deadline_at,
        "usage": usage_facts(run.usage),
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
        *((f"owner {number}", _owner(attempt)) for number, attempt in enumerate(run.attempts, start=1)),
        ("error", run.error),
    ]


def _owner(attempt: Attempt) -> str:
    host, pid, _ = attempt.worker.rsplit("/", 2)
    return f"{host} pid {pid}, {attempt.how} {age(attempt.at)}"
