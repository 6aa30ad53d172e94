"""A drained worker fetches no messages: its queues are cancelled, and consumed again when it is undrained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Celery, bootsteps

LOOK_SECONDS = 0.5


def stop_consuming_when(app: Celery, is_drained: Callable[[], bool]) -> None:
    """Have the consumer of this process follow. Call it before the worker is set up."""

    class FollowDrain(bootsteps.StartStopStep):
        """Looks from the consumer's own event loop, and starts again with each connection."""

        requires = ("celery.worker.consumer:Tasks",)

        def __init__(self, parent: Any, **options: Any) -> None:
            super().__init__(parent, **options)
            self._cancelled: list[str] = []

        def start(self, parent: Any) -> None:
            self._look(parent)
            parent.timer.call_repeatedly(LOOK_SECONDS, self._look, (parent,))

        def _look(self, consumer: Any) -> None:
            if is_drained() and not self._cancelled:
                self._cancelled = sorted(consumer.app.amqp.queues.consume_from)
                for queue in self._cancelled:
                    consumer.cancel_task_queue(queue)
            elif self._cancelled and not is_drained():
                for queue in self._cancelled:
                    consumer.add_task_queue(queue)
                self._cancelled = []

    app.steps["consumer"].add(FollowDrain)
