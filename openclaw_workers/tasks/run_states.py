"""How the end of a run is shown by Celery's events, and so by Flower.

A task that runs a turn always returns, because a chord counts returns. What it returns says how the run ended, and the
event that Celery would send for a success becomes the one for that end: SUCCESS, FAILURE with the reason, or REVOKED.
"""

from __future__ import annotations

import ast
from typing import Any

from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.shorten import one_line, shorten

SUCCEEDED = "task-succeeded"
FAILED = "task-failed"
REVOKED = "task-revoked"
REASON_CHARS = 300


def result_of(run: Run) -> dict[str, str]:
    """What a task returns for a run that has ended. Celery's events carry it as text."""
    reason = run.reason or ""
    why = f"{reason}: {run.error}" if run.error and run.state is not RunState.OK else reason
    return {"run_id": run.id, "status": run.state.value, "reason": shorten(one_line(why), REASON_CHARS)}


def answered(run_id: str) -> dict[str, str]:
    """The same for a run that has just answered, without reading its record."""
    return {"run_id": run_id, "status": RunState.OK.value, "reason": ""}


def event_of(kind: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The event to send instead of this one."""
    ended = _read(fields.get("result")) if kind == SUCCEEDED else {}
    state, reason = ended.get("status"), ended.get("reason", "")
    if state == RunState.KILLED:
        return REVOKED, {"terminated": False, "signum": None, "expired": False, "exception": reason}
    if state in (RunState.ERROR, RunState.TIMEOUT):
        return FAILED, {"exception": reason, "traceback": None, "runtime": fields.get("runtime")}
    return kind, fields


def _read(result: object) -> dict[str, str]:
    try:
        found = ast.literal_eval(str(result))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
