"""Which queues a worker consumes: none while it is drained, and those of the places that it sees."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from celery import Celery, bootsteps

LOOK_SECONDS = 0.5


def follow_queues(app: Celery, is_drained: Callable[[], bool], place_queues: Callable[[], Collection[str]]) -> None:
    """Have the consumer of this process follow. Call it before the worker is set up.

    A drained worker cancels its queues, and consumes them again when it is undrained. `place_queues`: the queues of
    places that it consumes besides those of its lanes.
    """

    class FollowQueues(bootsteps.StartStopStep):
        """Looks from the consumer's own event loop, and starts again with each connection."""

        requires = ("celery.worker.consumer:Tasks",)

        def __init__(self, parent: Any, **options: Any) -> None:
            super().__init__(parent, **options)
            self._cancelled: list[str] = []
            self._of_places: set[str] = set()

        def start(self, parent: Any) -> None:
            self._look(parent)
            parent.timer.call_repeatedly(LOOK_SECONDS, self._look, (parent,))

        def _look(self, consumer: Any) -> None:
            drained = is_drained()
            self._follow_places(consumer, () if drained else place_queues())
            if drained and not self._cancelled:
                self._cancelled = sorted(consumer.app.amqp.queues.consume_from)
                for queue in self._cancelled:
                    consumer.cancel_task_queue(queue)
            elif self._cancelled and not drained:
                for queue in self._cancelled:
                    consumer.add_task_queue(queue)
                self._cancelled = []

        def _follow_places(self, consumer: Any, wanted: Collection[str]) -> None:
            for queue in self._of_places.difference(wanted):
                consumer.cancel_task_queue(queue)
            for queue in set(wanted) - self._of_places:
                consumer.add_task_queue(queue)
            self._of_places = set(wanted)

    app.steps["consumer"].add(FollowQueues)
