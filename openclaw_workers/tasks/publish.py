"""Sending wake-ups by task name. Ids only: no message text ever enters the broker or Flower."""

from __future__ import annotations

import json
import time
from typing import Any

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from openclaw_workers.engine.wake import lane_of
from openclaw_workers.models.ids import RunId, SessionKey
from openclaw_workers.models.runs import Lane
from openclaw_workers.models.session_key import agent_of
from openclaw_workers.store.connection import Client
from openclaw_workers.store.keys import Keys
from openclaw_workers.tasks.envelope import WOKEN_AT, Envelope

log = structlog.get_logger(__name__)

TURN = "openclaw.turn"
ARCHIVE = "openclaw.archive"
UNREACHABLE = (OperationalError, RedisError, OSError)


class CeleryWaker:
    """Implements engine.wake.Waker on Celery's queues."""

    def __init__(self, app: Celery, redis: Client, namespace: str) -> None:
        self._app = app
        self._envelopes: dict[Lane, Envelope] = {}
        self._redis = redis
        self._keys = Keys(namespace)

    def turn(self, session: SessionKey, run: RunId) -> bool:
        lane = lane_of(session)
        return self._send(TURN, [session, run], lane, task_id=run, shown=_shown(session, run))

    def sealed(self, session: SessionKey, run: RunId) -> str:
        lane = lane_of(session)
        if lane not in self._envelopes:
            self._envelopes[lane] = Envelope(self._app, TURN, lane)
        return self._envelopes[lane].fill([session, run], task_id=run, shown=_shown(session, run))

    def archive(self, archive_id: str) -> bool:
        return self._send(ARCHIVE, [archive_id], Lane.SERVICE, task_id=f"archive-{archive_id}", shown=f"({archive_id})")

    def oldest_ms(self, lane: Lane) -> int:
        try:
            raw = self._redis.lindex(self._keys.broker_queue(lane), -1)
            return int(json.loads(str(raw))["headers"][WOKEN_AT]) if raw else 0
        except (RedisError, ValueError, KeyError, TypeError):
            return 0

    def _send(self, name: str, args: list[Any], lane: Lane, *, task_id: str, shown: str) -> bool:
        try:
            self._app.send_task(
                name,
                args=args,
                queue=lane,
                task_id=task_id,
                argsrepr=shown,
                kwargsrepr="{}",
                ignore_result=True,
                retry=False,
                headers={WOKEN_AT: int(time.time() * 1000)},
            )
        except UNREACHABLE as error:
            log.warning("wake.unpublished", task=name, id=task_id, error=str(error))
            return False
        return True


def _shown(session: SessionKey, run: RunId) -> str:
    """What Flower and Celery's events show of a turn: who and where, never what was said."""
    return f"({session}, lane={lane_of(session)}, agent={agent_of(session)}, {run})"
