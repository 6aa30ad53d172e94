"""Celery's events as Flower receives them: the state of each task, by its id."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery
from celery.events.state import State


class TaskStates:
    """The states that events have led to so far."""

    def __init__(self, app: Celery, connection: Any) -> None:
        self._state: Any = State()
        self.receiver: Any = app.events.Receiver(connection, handlers={"*": self._state.event}, app=app)

    def of(self, task_id: str) -> tuple[str, str]:
        """State and reason; empty if no event has come."""
        task: Any = self._state.tasks.get(task_id)
        return (str(task.state), str(task.exception or "")) if task else ("", "")

    @property
    def sees_workers(self) -> bool:
        return bool(self._state.workers)


@contextmanager
def task_states(app: Celery) -> Iterator[TaskStates]:
    """Receive the events of all workers; yields when those of one have come."""
    with app.connection_for_read() as connection:
        states = TaskStates(app, connection)
        thread = threading.Thread(target=states.receiver.capture, kwargs={"limit": None, "wakeup": True}, daemon=True)
        thread.start()
        try:
            yield states
        finally:
            states.receiver.should_stop = True
            thread.join(10)
