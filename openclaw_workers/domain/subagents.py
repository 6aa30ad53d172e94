"""Sub-agents' runs in the order in which they were spawned."""

from __future__ import annotations

from openclaw_workers.domain.runs import Run


def spawn_order(run: Run) -> tuple[int, int, int, str]:
    """Sort key: by time, and for one assistant message in the order of its tool calls, whatever their batches."""
    return run.queued_at, run.spawn_seq, run.batch_index, run.id
