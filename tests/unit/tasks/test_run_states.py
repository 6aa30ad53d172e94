"""How Celery's events, and so Flower, show the end of a run."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.runs import Run
from openclaw_workers.tasks.run_states import answered, event_of, result_of


def ended(state: str, **facts: str) -> str:
    """What Celery passes on of a task's result."""
    run = Run.model_validate({"id": "run-1", "session_key": "agent:main:main", "state": state, **facts})
    return repr(result_of(run))


@pytest.mark.parametrize(
    ("result", "kind", "why"),
    [
        (ended("ok", reason="complete"), "task-succeeded", None),
        (repr(answered("run-1")), "task-succeeded", None),
        (ended("error", reason="auth", error="no key"), "task-failed", "auth: no key"),
        (ended("error", reason="lost", error="its worker died"), "task-failed", "lost: its worker died"),
        (ended("timeout", reason="timeout"), "task-failed", "timeout"),
        (ended("killed", reason="revoked"), "task-revoked", "revoked"),
        ("None", "task-succeeded", None),
        ("{'half", "task-succeeded", None),
    ],
)
def test_an_end_becomes_the_event_of_its_state(result: str, kind: str, why: str | None) -> None:
    sent, fields = event_of("task-succeeded", {"result": result, "runtime": 1.0})
    assert (sent, fields.get("exception")) == (kind, why)


def test_a_long_error_is_cut_so_that_it_can_be_read_back() -> None:
    kind, fields = event_of("task-succeeded", {"result": ended("error", reason="error", error="x\n" * 5000)})
    assert kind == "task-failed"
    assert len(fields["exception"]) <= 300


def test_other_events_stay_as_they_are() -> None:
    assert event_of("task-started", {"pid": 1}) == ("task-started", {"pid": 1})
