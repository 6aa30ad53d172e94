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
import uuid
from typing import Any, cast

from celery import Celery
from kombu import Connection, Producer
from kombu.transport import virtual

from openclaw_workers.models.runs import Lane

_ONE_AT_A_TIME = threading.Lock()
"""All in-memory connections of a process share their queues: a second thread would purge or take the first one's."""


class Envelope:
    def __init__(self, app: Celery, task: str, lane: Lane) -> None:
        message = _published_in_memory(app, task, lane)
        self._rest = {name: message[name] for name in ("content-encoding", "content-type")}
        self._headers: dict[str, Any] = message["headers"]
        self._properties: dict[str, Any] = message["properties"]
        _, self._kwargs, self._embed = json.loads(base64.b64decode(message["body"]))

    def fill(self, args: list[str], *, task_id: str, shown: str, headers: dict[str, Any]) -> str:
        body = json.dumps([args, self._kwargs, self._embed])
        message = {
            "body": base64.b64encode(body.encode()).decode(),
            **self._rest,
            "headers": {**self._headers, "id": task_id, "root_id": task_id, "argsrepr": shown, **headers},
            "properties": {
                **self._properties,
                "correlation_id": task_id,
                "argsrepr": shown,
                "delivery_tag": str(uuid.uuid4()),
            },
        }
        return json.dumps(message)


def _published_in_memory(app: Celery, task: str, lane: Lane) -> dict[str, Any]:
    with _ONE_AT_A_TIME, Connection("memory://") as connection, connection.channel() as channel:
        queue = app.amqp.queues[lane].bind(channel)
        queue.declare()
        queue.purge()
        producer = Producer(channel, auto_declare=False)
        app.send_task(
            task, args=[], kwargsrepr="{}", argsrepr="", queue=lane, ignore_result=True, retry=False, producer=producer
        )
        message: dict[str, Any] = cast("virtual.Channel", channel)._get(lane)
        return message
