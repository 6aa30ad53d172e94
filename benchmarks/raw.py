"""The yardstick: a Celery application that does nothing, on the same Redis and pool.

It acknowledges late, as people set it up who must not lose tasks: with kombu's emulation. We do without that, and so
does it with BENCH_ACKS=0: then it loses what a killed worker held.
"""

from __future__ import annotations

import os
import time

from celery import Celery

app = Celery("raw", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
app.conf.update(
    task_default_queue="raw",
    worker_prefetch_multiplier=1,
    task_acks_late=True,
    worker_send_task_events=os.environ.get("BENCH_EVENTS") == "1",
    worker_hijack_root_logger=False,
    broker_transport_options={"priority_steps": [0], "ack_emulation": os.environ.get("BENCH_ACKS") != "0"},
    broker_connection_retry_on_startup=True,
)


@app.task(name="raw.noop")
def noop() -> None:
    """Nothing."""


@app.task(name="raw.second")
def second() -> float:
    """One second of waiting, and when it was over."""
    time.sleep(1)
    return time.time()
