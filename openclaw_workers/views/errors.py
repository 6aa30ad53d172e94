"""An error as JSON."""

from __future__ import annotations

from openclaw_workers.errors import OpenClawError


def error_json(error: OpenClawError) -> dict[str, str | None]:
    return problem_json(type(error).__name__, error.message, error.hint)


def problem_json(kind: str, message: str, hint: str | None) -> dict[str, str | None]:
    """An error that was not raised, such as the recorded failure of a run."""
    return {"type": kind, "message": message, "hint": hint}
