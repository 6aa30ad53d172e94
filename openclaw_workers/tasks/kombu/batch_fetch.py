"""How a worker takes messages from its queue.

kombu takes one, goes once round its loop and asks for the next, and Redis syncs its disk for each. With hundreds of
slots that is most of what starting a turn costs. Here a worker with many free slots takes a handful behind the first
one in a single command. It takes a small share of its free slots only, so that other workers get theirs: one with a
few slots takes one message at a time, as before.

kombu also lets a malformed message end the worker, with all the turns it carries. Here it is logged and dropped:
the run that it was to wake is due in Redis, and the sweep wakes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from kombu.transport.redis import Channel, Transport
from kombu.transport.virtual import Message
from kombu.utils.json import loads

log = structlog.get_logger(__name__)

AT_ONCE = 8
"""More did not make 200 turns start sooner."""

SHARE = 4
"""Of so many free slots, one is filled at once."""

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What kombu and Celery raise for a message that is no JSON, or not of the form they write."""

ADVICE = "it is dropped; the sweep does what it was for"

# By its name: the stubs do not know it.
_take_one: Callable[..., bool] = vars(Channel)["_brpop_read"]


class WorkerChannel(Channel):
    _closing: bool
    _queue_cycle: Any

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Callable[..., Any] | None, consumer_tag: str | None, **more: Any
    ) -> Any:
        assert callback is not None

        def survive(message: Message) -> None:
            try:
                callback(message)
            except MALFORMED as error:
                log.error("wake.unreadable", advice=ADVICE, exc_info=error)
                if not message.acknowledged:
                    message.reject()  # or it would hold its slot until the worker exits

        return super().basic_consume(queue, no_ack, survive, consumer_tag, **more)

    def _brpop_read(self, **options: Any) -> bool:
        try:
            _take_one(self, **options)
        except MALFORMED as error:
            _drop(error)
        # Of several lanes, kombu asks each in turn. The queues of places belong to one lane.
        if not self._closing and len({queue.partition("@")[0] for queue in self.active_queues}) == 1:
            self._take_more(self._queue_cycle.items[-1])
        return True

    def _take_more(self, queue: str) -> None:
        """From the queue that kombu has just taken a message from."""
        count = min(AT_ONCE, (self.qos.can_consume_max_estimate() or 0) // SHARE)
        if count > 1:
            for raw in self.client.rpop(queue, count) or ():
                try:
                    self.connection._deliver(loads(raw), queue)
                except MALFORMED as error:
                    _drop(error)


def _drop(error: Exception) -> None:
    log.error("wake.unreadable", error=f"{type(error).__name__}: {error}", advice=ADVICE)


def use_batch_fetch() -> None:
    """Have the workers of this process use it."""
    Transport.Channel = WorkerChannel
