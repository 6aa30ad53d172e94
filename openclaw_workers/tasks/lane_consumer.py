"""Stops and resumes the consuming of wake-ups, for a worker that takes no turns for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import structlog
from celery import Celery
from celery.worker.control import control_command
from kombu.exceptions import OperationalError

log = structlog.get_logger(__name__)

PAUSE = "openclaw_pause"
RESUME = "openclaw_resume"

AGAIN_SECONDS = 5.0
"""An order is repeated: a worker that is just starting does not hear the first one."""


def add_commands() -> None:
    """Make the orders known to the workers of this process."""
    control_command(name=PAUSE)(_pause)
    control_command(name=RESUME)(_resume)


def _pause(state: Any, lanes: Sequence[str]) -> dict[str, str]:
    for lane in lanes:
        state.consumer.cancel_task_queue(lane)
    return {"ok": "paused"}


def _resume(state: Any, lanes: Sequence[str]) -> dict[str, str]:
    queues = state.app.amqp.queues
    for lane in lanes:
        # Celery's own command forgets this, and consumes nothing after the next reconnect.
        queues.consume_from[lane] = queues[lane]
        state.consumer.add_task_queue(lane)
    return {"ok": "resumed"}


class LaneConsumer:
    """Orders go through Celery's remote control: with prefork, another process consumes."""

    def __init__(self, app: Celery, nodename: str, lanes: Sequence[str]) -> None:
        self._app = app
        self._nodename = nodename
        self._lanes = lanes
        self._is_consuming = True
        self._ordered_at = 0.0
        self._ordering = threading.Lock()

    def turn_away(self, reason: str) -> None:
        """Consume no wake-ups while there is a reason. Called with each tick, so it must not wait for Redis."""
        is_new = bool(reason) == self._is_consuming
        if not self._nodename or not (is_new or time.monotonic() - self._ordered_at > AGAIN_SECONDS):
            return
        self._is_consuming = not reason
        self._ordered_at = time.monotonic()
        threading.Thread(target=self._order, args=(not reason,), name="ocw-consumer", daemon=True).start()

    def _order(self, consumes: bool) -> None:
        with self._ordering:
            try:
                command = RESUME if consumes else PAUSE
                self._app.control.broadcast(command, {"lanes": list(self._lanes)}, destination=[self._nodename])
            except (OperationalError, OSError) as error:
                log.warning("consumer.order_failed", error=str(error))
