"""One worker per lane as children of `ocw up`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import redis

from openclaw_workers.cli.local.celery_argv import celery_argv
from openclaw_workers.cli.local.child_spec import ChildSpec, Starter
from openclaw_workers.cli.local.start_program import start_program
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.keys import Keys

MODULES = (
    "openclaw_workers.tasks.turn",
    "openclaw_workers.tasks.service",
    *("celery.bin.celery", "celery.bin.worker", "celery.apps.worker", "celery.concurrency.thread"),
    *("celery.worker.consumer", "celery.worker.components", "celery.worker.autoscale", "celery.events.state"),
    *("celery.app.log", "celery.app.events", "celery.backends.redis", "kombu.transport.redis", "hiredis"),
)
"""What a worker imports, but for the settings of Celery, which depend on its environment."""


def worker_name(lane: Lane) -> str:
    return f"worker-{lane}"


def worker_spec(
    lane: Lane,
    concurrency: int,
    *,
    env: Mapping[str, str],
    is_ready: Callable[[int], bool],
    grace_seconds: float,
    events: bool,
    start: Starter = start_program,
) -> ChildSpec:
    return ChildSpec(
        name=worker_name(lane),
        argv=tuple(celery_argv(lane, concurrency, events=events)),
        env=env,
        is_ready=is_ready,
        # A worker ends within the grace period by itself; one that does not is killed.
        stop_seconds=grace_seconds + 3,
        modules=MODULES,
        start=start,
    )


def registration_probe(redis_url: str, keys: Keys) -> Callable[[int], bool]:
    """A check whether the worker with a given pid has sent a heartbeat from now on.

    Older heartbeats do not count: after a reboot, the entry of an old worker may have the pid of a new one.
    """
    client = redis.Redis.from_url(redis_url, decode_responses=True, socket_timeout=1, socket_connect_timeout=1)
    seconds, microseconds = client.time()
    since_ms = seconds * 1000 + microseconds // 1000

    def has_heartbeat(pid: int) -> bool:
        try:
            recent = cast("list[str]", client.zrange(keys.workers, since_ms, "+inf", byscore=True))
            found: list[Any] = [client.hget(keys.worker(worker), "pid") for worker in recent]
        except (redis.RedisError, OSError):
            return False
        return str(pid) in found

    return has_heartbeat
