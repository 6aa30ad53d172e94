"""The line that says what a turn waits for."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.cli.render.turn_status import TurnStatus
from openclaw_workers.domain.events import Event


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def event(kind: str, **data: Any) -> Event:
    return Event("1-0", kind, 1, 1000, data)


def test_it_names_the_model_and_counts_seconds(clock: Clock) -> None:
    status = TurnStatus("openai/gpt-5", clock=clock)
    assert status.line == ""
    status.wait_for("a worker")
    assert status.line == "waiting for a worker, 0 s"
    clock.now += 3
    status.show(event("run.started", run="run-1"))
    clock.now += 12.7
    assert status.line == "waiting for gpt-5, 12 s"
    clock.now += 200
    assert status.line == "waiting for gpt-5, 3 min"
    status.end()
    assert status.line == ""


def test_it_names_the_tools_that_run(clock: Clock) -> None:
    status = TurnStatus("openai/gpt-5", clock=clock)
    status.show(event("tool.started", call="a", tool="exec", brief="sleep  5"))
    assert status.line == "running exec sleep 5, 0 s"
    status.show(event("tool.started", call="b", tool="read", brief="notes.md"))
    assert status.line == "running read notes.md and 1 more, 0 s"
    status.show(event("tool.ended", call="b", tool="read"))
    status.show(event("tool.ended", call="a", tool="exec"))
    assert status.line == "waiting for gpt-5, 0 s"


def test_more_of_the_same_does_not_begin_again_and_what_is_old_counts_from_then(clock: Clock) -> None:
    status = TurnStatus(clock=clock)
    status.show(event("text.delta", text="a"), age_seconds=20)
    clock.now += 1
    status.show(event("text.delta", text="b"))
    assert status.line == "the model answers, 21 s"
