"""A sub-agent's run as text, with the delivery of its result."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.cli.render.branches import short
from openclaw_workers.cli.render.runs import duration, run_lines
from openclaw_workers.cli.render.text import age, table
from openclaw_workers.domain.ids import BatchId, RunId
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch, BatchState
from openclaw_workers.views.runs import host_of


def delivery_word(batch: Batch | None) -> str:
    """The state of the announce, for a column of a table."""
    match batch:
        case None | Batch(state=BatchState.RUNNING):
            return ""
        case Batch(state=BatchState.SETTLED):
            return f"pending, {batch.tries} failed" if batch.tries else "pending"
        case Batch():
            return batch.state


def subagent_table(found: Sequence[tuple[int, Run]], batches: dict[BatchId, Batch], numbers: dict[RunId, int]) -> str:
    """Runs under the numbers by which other commands take them; `numbers` also has those of their parents."""
    head = ("#", "LABEL", "STATE", "RESULT", "PARENT", "HOST", "TOKENS", "TOOK", "SPAWNED", "RUN")
    rows = [
        (
            number,
            short(run.label),
            run.state,
            delivery_word(batches.get(run.batch) if run.batch else None),
            _parent(run, numbers),
            host_of(run),
            run.usage.total,
            duration(run),
            age(run.queued_at),
            run.id,
        )
        for number, run in found
    ]
    return table(head, rows, right=("#", "TOKENS", "TOOK"))


def _parent(run: Run, numbers: dict[RunId, int]) -> str:
    number = numbers.get(run.parent_run_id) if run.parent_run_id else None
    return f"#{number}" if number else str(run.requester_session_key or "")


def tree_details(run: Run, batch: Batch | None) -> list[tuple[str, object]]:
    """Where a sub-agent's run stands in its tree; nothing for other runs."""
    if not run.is_child:
        return []
    return [
        ("label", run.label),
        ("task", run.task),
        ("spawned by", f"{run.parent_run_id} in {run.requester_session_key}"),
        ("depth", f"{run.depth} ({run.role})" if run.role else run.depth),
        ("outcome", f"{run.outcome} ({run.ended_reason})" if run.outcome else None),
        ("result", _delivery_line(run, batch)),
        ("batch", f"{run.batch}, {batch.mode}" if batch else run.batch),
        ("metadata", run.metadata),
    ]


def subagent_details(run: Run, batch: Batch | None) -> list[tuple[str, object]]:
    """Name and value of each line that `ocw subagents info` prints."""
    first, *others = run_lines(run)
    return [
        first,
        *tree_details(run, batch),
        *others,
        ("controller", run.controller_session_key if run.controller_session_key != run.requester_session_key else None),
        ("mode", f"{run.spawn_mode}, cleanup {run.cleanup}, deliver {'yes' if run.deliver else 'no'}"),
        ("said", run.text if run.outcome == "ok" or not run.partial else run.partial),
    ]


def _delivery_line(run: Run, batch: Batch | None) -> str:
    """Whether the parent has the result, and what to do about one that cannot be delivered."""
    if batch is None:
        return ""
    if batch.state is BatchState.RUNNING and run.settled_at is None:
        return "not there yet"
    error = f" after {batch.tries} tries: {batch.last_error}" if batch.last_error and batch.tries else ""
    lines = {
        BatchState.RUNNING: f"waits for the others of its batch of {len(batch.members)}",
        BatchState.SETTLED: f"pending{error}",
        BatchState.BLOCKED: f"blocked{error}; `ocw subagents retry {batch.id}` tries again",
        BatchState.DELIVERED: f"delivered to {batch.parent_session} {age(batch.announced_at)}",
    }
    return lines.get(batch.state, batch.state)
