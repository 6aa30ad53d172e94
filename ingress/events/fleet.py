"""Changes of the whole installation for viewers: runs, sessions, workers and queues, looked at twice a second.

Nothing is read while nobody watches. Several changes of one thing between two looks are one event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from ingress.events.viewer import Shown, Viewer
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.runs import RunState
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.lane_queues import lane_queues
from openclaw_workers.store.pipelines import usable
from openclaw_workers.store.workers import DEAD_AFTER_MS

log = structlog.get_logger(__name__)

PERIOD_SECONDS = 0.5
MOST_RUNS = 500
"""Runs that are looked at, the newest ones."""
FIELDS = {
    "state": "state",
    "session_key": "sessionKey",
    "kind": "kind",
    "label": "label",
    "parent_run_id": "parentRunId",
    "root_session_key": "rootSessionKey",
    "attempts": "attempts",
}
_FINAL = {state.value for state in RunState if state.is_final}

Fields = dict[str, str | None]


class FleetFeed:
    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._viewers: set[Viewer] = set()
        self._wanted = asyncio.Event()
        self._runs: dict[str, Fields] = {}
        """Runs that have not ended, as they were seen last."""
        self._fleet: dict[str, Any] | None = None
        """Workers, ingress processes and queues, as they were seen last; None while nobody watches."""
        self._since = 0
        self._seq = 0

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[Viewer]:
        viewer = Viewer()
        self._viewers.add(viewer)
        # A later viewer would otherwise wait for the next change to learn how things stand.
        if self._fleet is not None:
            viewer.put(self._fleet_event())
        self._wanted.set()
        try:
            yield viewer
        finally:
            self._viewers.discard(viewer)

    def close(self) -> None:
        for viewer in self._viewers:
            viewer.end()

    async def run(self) -> None:
        while True:
            if not self._viewers:
                self._wanted.clear()
                self._runs, self._since, self._fleet = {}, 0, None
                await self._wanted.wait()
            try:
                await self._look()
            except (RedisError, OSError) as error:
                log.warning("fleet.unread", error=str(error))
            await asyncio.sleep(PERIOD_SECONDS)

    async def _look(self) -> None:
        k, first = self._keys, self._since == 0
        async with self._redis.pipeline(transaction=False) as pipe:
            # Redis' own clock: the scores of the sets come from it, and this host's clock may differ.
            pipe.time()
            pipe.zrange(k.runs, "+inf", self._since, desc=True, byscore=True, offset=0, num=MOST_RUNS)
            pipe.zrange(k.sessions, "+inf", self._since, desc=True, byscore=True, offset=0, num=MOST_RUNS)
            pipe.zrange(k.workers, 0, -1, withscores=True)
            pipe.zrange(k.ingresses, 0, -1, withscores=True)
            pipe.hvals(k.places)
            (seconds, micros), runs, sessions, workers, ingresses, bindings = usable(
                await pipe.execute(raise_on_error=False)
            )
        now = seconds * 1000 + micros // 1000
        await self._look_at_runs(now, [str(run) for run in runs or []], quietly=first)
        # At the first look everything would count as changed.
        if not first:
            for session in sessions or []:
                self._publish(self._event("session.changed", now, {}, session=str(session)))
        alive = {
            "workers": sorted(str(name) for name, beat in workers or [] if abs(now - beat) < DEAD_AFTER_MS),
            "ingresses": sorted(str(name) for name, beat in ingresses or [] if abs(now - beat) < DEAD_AFTER_MS),
            "queued": await self._queued(bindings or []),
        }
        self._since = now
        if alive != self._fleet:
            self._fleet = alive
            self._publish(self._fleet_event())

    async def _queued(self, bindings: Sequence[str]) -> dict[str, int]:
        """How many wake-ups of each lane no worker has fetched."""
        queues = lane_queues(self._keys, bindings)
        async with self._redis.pipeline(transaction=False) as pipe:
            for each in queues.values():
                for queue in each:
                    pipe.llen(queue)
            depths = iter(usable(await pipe.execute(raise_on_error=False)))
        return {str(lane): sum(next(depths) or 0 for _ in each) for lane, each in queues.items()}

    async def _look_at_runs(self, now: int, found: list[str], *, quietly: bool) -> None:
        """`quietly`: only note how they stand."""
        # Also those known to be running: a run that ends need not be among the newest.
        names = list(dict.fromkeys([*found, *self._runs]))[:MOST_RUNS]
        async with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hmget(self._keys.run(name), list(FIELDS))
            rows = usable(await pipe.execute(raise_on_error=False))
        for name, row in zip(names, rows, strict=True):
            fields: Fields = dict(zip(FIELDS, row or [None] * len(FIELDS), strict=True))
            if fields != self._runs.get(name) and fields["session_key"] and not quietly:
                data = _as_data(name, fields)
                self._publish(self._event("run.changed", now, data, session=fields["session_key"]))
            if fields["state"] is None or fields["state"] in _FINAL:
                self._runs.pop(name, None)
            else:
                self._runs[name] = fields

    def _fleet_event(self) -> Shown:
        return self._event("fleet.changed", self._since, self._fleet or {})

    def _event(self, kind: str, now: int, data: Mapping[str, Any], session: str = "") -> Shown:
        self._seq += 1
        return Shown(session, Event("", kind, self._seq, now, dict(data)))

    def _publish(self, shown: Shown) -> None:
        for viewer in list(self._viewers):
            viewer.put(shown)


def _as_data(run: str, fields: Fields) -> dict[str, Any]:
    changed = {FIELDS[name]: value for name, value in fields.items() if name not in ("attempts", "session_key")}
    return {"runId": run, **changed}
