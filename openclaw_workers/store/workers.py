"""Worker processes: who is alive, who must drain, who has left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.stored_json import SCHEMA
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import each_answer

DEAD_AFTER_MS = 15_000
LISTED_MS = 10 * 60_000
"""So long a worker that died without leaving is still listed, as not alive."""
RUNS_KEPT_MS = 7 * 86_400_000
PRUNE_EVERY_MS = 3_600_000
PRUNED_AT_ONCE = 1000
REPORT_KEPT_SECONDS = 120


class Workers:
    def __init__(self, redis: Client, keys: Keys, *, lease_ms: int) -> None:
        self._redis = redis
        self._keys = keys
        self._lease_ms = lease_ms

    def all(self) -> list[WorkerInfo]:
        """Everyone who ticked within the last ten minutes, newest first."""
        with store_errors():
            beats: Any = self._redis.zrange(self._keys.workers, 0, -1, desc=True, withscores=True)
            with self._redis.pipeline(transaction=False) as pipe:
                pipe.time()
                for worker, _ in beats:
                    pipe.hgetall(self._keys.worker(str(worker)))
                now, *facts = each_answer(pipe)
        return worker_infos(beats, now, facts)

    def is_alive(self, worker: WorkerId) -> bool:
        """Whether a process has renewed its leases within the last lease.

        A beat that lies ahead is from before the clock stepped back. Whoever lives renews it within a second.
        """
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.zscore(self._keys.workers, worker)
            (seconds, micros), beat = pipe.execute()
        return beat is not None and abs(seconds * 1000 + micros // 1000 - beat) < self._lease_ms

    def drain(self, name: str) -> None:
        """Let a worker, or all workers of a host, take no turns and hand over those they have.

        They read so with their next tick. It holds for workers of the host that start later, too.
        """
        write(self._redis, (self._keys.drained, "HSET", name, now_ms()))

    def undrain(self, name: str) -> bool:
        """Let them take turns again; returns whether they were drained."""
        with store_errors():
            return bool(self._redis.hdel(self._keys.drained, name))

    def drained(self) -> list[str]:
        """Hosts and workers that are drained."""
        with store_errors():
            return sorted(str(name) for name in self._redis.hkeys(self._keys.drained))

    def send_report(self, worker: WorkerId, parts: Mapping[str, str]) -> None:
        """Keep what a worker says of its plugins and MCP servers, apart from the facts that everybody reads."""
        key = self._keys.worker_report(worker)
        words = [word for part in {**parts, "v": str(SCHEMA)}.items() for word in part]
        # A worker that dies stops reporting, and its report goes with it.
        write(self._redis, (key, "HSET", *words), (key, "EXPIRE", REPORT_KEPT_SECONDS))

    def reports(self, workers: Sequence[WorkerId]) -> list[dict[str, str]]:
        """What each of these workers has reported; empty for one that has not."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for worker in workers:
                pipe.hgetall(self._keys.worker_report(worker))
            return [{name: part for name, part in report.items() if name != "v"} for report in each_answer(pipe)]

    def leave(self, worker: WorkerId) -> None:
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zrem(self._keys.workers, worker)
            pipe.delete(self._keys.worker(worker), self._keys.worker_report(worker))
            # Ids of workers are not used again. The entry of a drained host stays.
            pipe.hdel(self._keys.drained, worker)
            pipe.execute()

    def prune(self) -> bool:
        """Forget in the index the runs whose records have expired, and the suspects of processes long dead.

        At most `PRUNED_AT_ONCE` runs; returns whether more may be left. Nothing happens if anybody has pruned within
        the last hour.
        """
        reply = run_script(
            self._redis,
            "prune",
            keys={**self._keys.shared("runs", "suspects", "workers", "sweep")},
            args={"kept_ms": RUNS_KEPT_MS, "every_ms": PRUNE_EVERY_MS, "most": PRUNED_AT_ONCE},
        )
        return bool(reply[0] == "more")


def worker_infos(
    beats: Sequence[tuple[str, float]], now: tuple[int, int], facts: Sequence[dict[str, str] | None]
) -> list[WorkerInfo]:
    """Workers from their heartbeats, the time of Redis (seconds and microseconds) and what each says of itself."""
    now_ms = now[0] * 1000 + now[1] // 1000
    return [
        WorkerInfo(WorkerId(str(worker)), abs(now_ms - beat) < DEAD_AFTER_MS, int(beat), fact or {})
        for (worker, beat), fact in zip(beats, facts, strict=True)
        if abs(now_ms - beat) < LISTED_MS
    ]
