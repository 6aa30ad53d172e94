"""Runs as text: what people read of a failed model call."""

from __future__ import annotations

from openclaw_workers.cli.render.runs import run_lines, run_table
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import ModelAttempt, Run, RunState
from openclaw_workers.errors import FailureReason
from openclaw_workers.views.runs import run_json


def test_a_refused_connection_is_not_called_a_timeout() -> None:
    attempt = ModelAttempt(model="box/m", reason=FailureReason.TIMEOUT, code="connection_refused", error="box: no")
    run = Run(
        id=RunId("r1"),
        session_key=SessionKey("agent:main:main"),
        state=RunState.ERROR,
        reason="timeout",
        queued_at=1,
        model_attempts=[attempt],
    )
    fields = run_json(run)

    lines = dict(run_lines(fields))
    assert lines["state"] == "error (connection refused)"
    assert str(lines["attempt 1"]).startswith("box/m: connection refused (connection_refused, after 0ms)")
    assert "error (connection refused)" in run_table([fields])
    assert fields["reason"] == "timeout", "what programs read stays"
