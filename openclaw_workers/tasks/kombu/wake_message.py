"""A wake-up as the text that stands in a Redis queue, so that a script can push it together with what it announces.

Publishing takes a round trip of its own, three times the processor time of the script before it, and leaves a moment
in which a message is accepted and nobody is told. The envelope is kombu's: it is taken once from kombu's own publish
path, on the in-memory transport, and only the ids in it are exchanged. A test compares it with what a real publish
puts into Redis.
"""

from __future__ import annotations

import base64
import json
import threading
from typing import Any, cast

from celery import Celery
from kombu import Connection, Producer
from kombu.transport import virtual

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import new_uuid
from openclaw_workers.domain.runs import Lane

WOKEN_AT = "woken_at"
"""Header with the time of publishing, milliseconds; the sweep compares the oldest one with what it looks for."""

_ONE_AT_A_TIME = threading.Lock()
"""All in-memory connections of a process share their queues: a second thread would purge or take the first one's."""


class WakeMessage:
    def __init__(self, app: Celery, task: str, lane: Lane) -> None:
        blank: dict[str, Any] = {"args": [], "kwargsrepr": "{}", "argsrepr": "", "ignore_result": True, "retry": False}
        message = published_in_memory(app, lane, name=task, queue=lane, **blank)
        _, kwargs, embed = json.loads(base64.b64decode(message["body"]))
        self._rest_of_body = f", {json.dumps(kwargs)}, {json.dumps(embed)}]"
        blanks = {"id": "@ID@", "root_id": "@ID@", "argsrepr": "@SHOWN@", WOKEN_AT: "@WOKEN@"}
        message["headers"] |= blanks
        message["properties"] |= {"correlation_id": "@ID@", "argsrepr": "@SHOWN@", "delivery_tag": "@TAG@"}
        message["body"] = "@BODY@"
        self._blank = json.dumps(message)

    def fill(self, args: list[str], *, task_id: str, shown: str) -> str:
        """The message for one task. Built by hand into a blank: it is made for every turn."""
        body = f"[{json.dumps(args)}{self._rest_of_body}"
        return (
            self._blank.replace('"@WOKEN@"', str(now_ms()))
            .replace("@TAG@", new_uuid())
            .replace("@ID@", task_id)
            .replace("@BODY@", base64.b64encode(body.encode()).decode())
            .replace("@SHOWN@", json.dumps(shown)[1:-1])  # last: a session key may spell a blank
        )


def published_in_memory(app: Celery, lane: Lane, **task: Any) -> dict[str, Any]:
    """The message that kombu would put into the lane's queue for this task."""
    with _ONE_AT_A_TIME, Connection("memory://") as connection, connection.channel() as channel:
        queue = app.amqp.queues[lane].bind(channel)
        queue.declare()
        queue.purge()
        producer = Producer(channel, auto_declare=False)
        app.send_task(**task, producer=producer)
        message: dict[str, Any] = cast("virtual.Channel", channel)._get(lane)
        return message
