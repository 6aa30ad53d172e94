"""Sub-agents' runs: the order in which they were spawned, and which one a name means."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.domain.runs import Run


def spawn_order(run: Run) -> tuple[int, int, int, str]:
    """Sort key: by time, and for one assistant message in the order of its tool calls, whatever their batches."""
    return run.queued_at, run.spawn_seq, run.batch_index, run.id


def matching_subagents(runs: Sequence[Run], wanted: str) -> list[Run]:
    """The sub-agents that a number (from 1), run id, session key or label means, each by its newest run.

    Several are found if more than one session has the label. Sub-agents that have not settled come before others.
    """
    number = wanted.removeprefix("#")
    if number.isdecimal() and 1 <= int(number) <= len(runs):
        return [runs[int(number) - 1]]
    found = [run for run in runs if wanted in (run.id, run.session_key, run.label)]
    found = found or [run for run in runs if run.label.lower() == wanted.lower()]
    found = [run for run in found if run.settled_at is None] or found
    return list({run.session_key: run for run in found}.values())
