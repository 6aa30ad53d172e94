"""WakeTemplates of wake-ups, so that a script can push a wake-up together with what it announces.

Publishing takes a round trip of its own, and three times the processor time of the script before it. It also leaves a
moment in which a message is accepted and no worker is woken. The form is kombu's: it is taken once
from kombu's own publish path, on the in-memory transport, and only the ids in it are exchanged. A test compares the
result with what a real publish puts into Redis.
"""

from __future__ import annotations

import base64
import json
import threading
from typing import Any, cast

from celery import Celery
from kombu import Connection, Producer
from kombu.transport import virtual

from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.stored_json import SCHEMA
from openclaw_workers.store.wake_messages import SCHEMA_HEADER, WOKEN_AT, MessageTemplate

_ONE_AT_A_TIME = threading.Lock()
"""All in-memory connections of a process share their queues: a second thread would purge or take the first one's."""


def message_template(app: Celery, task: str, lane: Lane, **options: Any) -> MessageTemplate:
    empty: dict[str, Any] = {"args": [], "kwargsrepr": "{}", "argsrepr": "", "ignore_result": True, "retry": False}
    message = published_in_memory(app, lane, name=task, queue=lane, **empty, **options)
    _, kwargs, embed = json.loads(base64.b64decode(message["body"]))
    placeholders = {"id": "@ID@", "root_id": "@ID@", "argsrepr": "@SHOWN@", WOKEN_AT: "@WOKEN@", SCHEMA_HEADER: SCHEMA}
    message["headers"] |= placeholders
    message["properties"] |= {"correlation_id": "@ID@", "argsrepr": "@SHOWN@", "delivery_tag": "@TAG@"}
    message["body"] = "@BODY@"
    return MessageTemplate(text=json.dumps(message), rest_of_body=f", {json.dumps(kwargs)}, {json.dumps(embed)}]")


def published_in_memory(app: Celery, queue_name: str, **task: Any) -> dict[str, Any]:
    """The message that kombu would put into a queue for this task."""
    with _ONE_AT_A_TIME, Connection("memory://") as connection, connection.channel() as channel:
        queue = app.amqp.queues[queue_name].bind(channel)
        queue.declare()
        queue.purge()
        producer = Producer(channel, auto_declare=False)
        app.send_task(**task, producer=producer)
        message: dict[str, Any] = cast("virtual.Channel", channel)._get(queue_name)
        return message
