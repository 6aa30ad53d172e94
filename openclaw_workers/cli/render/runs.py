"""A run as text."""

from __future__ import annotations

from openclaw_workers.cli.render.text import age, dollars, span, table
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.runs import Attempt, ModelAttempt, Run


def run_table(runs: list[Run]) -> str:
    head = ("RUN", "STATE", "SESSION", "MESSAGES", "OWNERS", "TOKENS", "TOOK", "QUEUED")
    rows = [
        (
            run.id,
            run.state,
            run.session_key,
            len(run.covers),
            len(run.attempts),
            run.usage.total,
            duration(run),
            age(run.queued_at),
        )
        for run in runs
    ]
    return table(head, rows, right=("MESSAGES", "OWNERS", "TOKENS", "TOOK"))


def duration(run: Run) -> str:
    if run.started_at is None:
        return "-"
    return span((run.ended_at or now_ms()) - run.started_at)


def run_details(run: Run) -> list[tuple[str, object]]:
    """Name and value of each line that `ocw runs show` prints."""
    usage = run.usage
    is_cached = usage.cache_read or usage.cache_write
    return [
        ("run", run.id),
        ("state", f"{run.state} ({run.reason})" if run.reason else run.state),
        ("session", run.session_key),
        ("lane", run.lane),
        ("model", run.model),
        ("queued", age(run.queued_at)),
        ("waited", span(run.started_at - run.queued_at) if run.started_at else None),
        ("took", duration(run) if run.started_at else None),
        ("covers", ", ".join(run.covers)),
        ("tokens", f"{usage.input} in, {usage.output} out" if usage.total else None),
        ("cache", f"{usage.cache_read} read, {usage.cache_write} written" if is_cached else None),
        ("cost", dollars(run.cost) if run.cost else None),
        *((f"attempt {number}", _failed_call(each)) for number, each in enumerate(run.model_attempts, start=1)),
        ("fallback", f"{run.model} answered instead of {run.fallback_from}" if run.fallback_from else None),
        *((f"owner {number}", _owner(attempt)) for number, attempt in enumerate(run.attempts, start=1)),
        ("suppressed", "the send policy held the reply back" if run.suppressed else None),
        ("error", run.error),
    ]


def _failed_call(attempt: ModelAttempt) -> str:
    """Which model failed or was skipped, and why."""
    details = [f"by {attempt.profile}" if attempt.profile else "", str(attempt.status or ""), attempt.code or ""]
    details += ["skipped" if attempt.skipped else f"after {span(attempt.milliseconds)}"]
    return f"{attempt.model}: {attempt.reason} ({', '.join(filter(None, details))}) {attempt.error}".rstrip()


def _owner(attempt: Attempt) -> str:
    host, pid = [*attempt.worker.rsplit("/", 2), ""][:2]
    return f"{host} pid {pid}, {attempt.how} {age(attempt.at)}"
