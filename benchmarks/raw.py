"""The baseline: a Celery application with empty tasks, on the same Redis and pool.

It acknowledges late, with kombu's emulation, as people configure it who must not lose tasks. With BENCH_ACKS=0 it does
not, like our workers, but then it loses the tasks of a killed worker.
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
    """Do nothing."""


@app.task(name="raw.second")
def second() -> float:
    """Sleep for a second and return the time."""
    time.sleep(1)
    return time.time()
