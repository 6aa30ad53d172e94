"""The fleet's heartbeat: renewing leases, claiming due work, rescuing sessions, and who is alive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId, new_token
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.inbox import pairs
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import each_answer
from openclaw_workers.store.turns import Granted, Lease

CLAIMED_AT_ONCE = 200
CLAIM_MS = 5_000
DEAD_AFTER_MS = 15_000
RUNS_KEPT_MS = 7 * 86_400_000


@dataclass(frozen=True, slots=True)
class Ticked:
    drain: bool
    verdicts: list[str]
    """For each lease: ok, lost, or the reason it must stop."""
    full_percent: int = 0
    """How full Redis is, if that is too much for new work; 0 otherwise."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """What to do about a session: `wake` its run, `settle` it with `lease`, or nothing."""

    verb: str
    lease: Lease | None = None
    granted: Granted = ()
    losses: int = 0
    """Workers that the run to settle has lost."""
    stood_still: bool = False
    """Whether the last of them died without getting any further."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    id: WorkerId
    alive: bool
    beat_at: int
    facts: dict[str, str]


class Fleet:
    """Written by every worker process about itself, and by sweeps about sessions nobody looks after."""

    def __init__(self, redis: Client, keys: Keys, *, lease_ms: int, rewake_ms: int, grant_ms: int) -> None:
        self._redis = redis
        self._keys = keys
        self._lease_ms = lease_ms
        self._rewake_ms = rewake_ms
        self._grant_ms = grant_ms

    def tick(
        self,
        worker: WorkerId,
        facts: dict[str, str],
        leases: Sequence[Lease],
    ) -> Ticked:
        """Renew the given leases and say that this process lives."""
        k = self._keys
        drain, percent, *verdicts = run_script(
            self._redis,
            "tick",
            keys={**k.shared("workers", "due", "memory"), "worker_key": k.worker(worker)},
            args={"worker": worker, "lease_ms": self._lease_ms, "facts": json.dumps(facts)},
            more_keys=[key for lease in leases for key in (k.ctl(lease.session), k.slots(lease.lane))],
            more_args=[word for lease in leases for word in (lease.session, lease.token, lease.run)],
        )
        return Ticked(bool(drain), [str(verdict) for verdict in verdicts], int(percent))

    def due(self, place: str = "") -> tuple[int, list[str]]:
        """Claim what is due; also returns the milliseconds until something else will be, -1 for nothing.

        `place`: the state directory of the caller, for archives that only it can write.
        """
        k = self._keys
        wait_ms, *items = run_script(
            self._redis,
            "due",
            keys={**k.shared("due", "sweep"), "waiting": k.archives_at(place), "stepped": k.due_before_step},
            args={"lease_ms": self._lease_ms, "most": CLAIMED_AT_ONCE, "claim_ms": CLAIM_MS},
        )
        return int(wait_ms), [str(item) for item in items]

    def rescue(
        self,
        session: SessionKey,
        lane: Lane,
        sweeper: WorkerId,
        *,
        oldest_wake_ms: int,
        cap: int,
        max_attempts: int,
    ) -> tuple[RunId | None, Rescue]:
        """Look at one due session; returns its current run and what is to be done."""
        k = self._keys
        with store_errors():
            run = self._redis.hget(k.ctl(session), "run")
        for _ in range(5):
            current = RunId(str(run or ""))
            reply = run_script(
                self._redis,
                "rescue",
                keys={
                    **k.for_session(session, "ctl", "events"),
                    **k.shared("due", "running", "suspects", "sweep"),
                    **k.for_lane(lane, "slots", "line"),
                    "run_key": k.run(current),
                },
                args={
                    "session": session,
                    "run": current,
                    "lease_ms": self._lease_ms,
                    "most": max_attempts,
                    "rewake_ms": self._rewake_ms,
                    "oldest": oldest_wake_ms,
                    "cap": cap,
                    "grant_ms": self._grant_ms,
                    "nonce": new_token(),
                    "sweeper": sweeper,
                },
            )
            match reply:
                case ["other", other]:
                    run = other
                case ["settle", token, granted, losses, stood_still]:
                    lease = Lease(session, current, lane, token)
                    return current, Rescue("settle", lease, pairs(granted), int(losses), bool(stood_still))
                case [verb, granted]:
                    return current, Rescue(verb, granted=pairs(granted))
                case [verb]:
                    return current, Rescue(verb)
        return None, Rescue("wait")

    def later(self, item: str, delay_ms: int) -> None:
        """Look at a claimed item again after a while; one that is done meanwhile stays done."""
        write(self._redis, (self._keys.due, "ZADD", "XX", "INCR", delay_ms - CLAIM_MS, item))

    def done(self, item: str) -> None:
        with store_errors():
            self._redis.zrem(self._keys.due, item)

    def drain(self, worker: WorkerId) -> None:
        """Tell a worker process, wherever it runs, to hand over its turns; it reads so with its next tick."""
        write(self._redis, (self._keys.worker(worker), "HSET", "drain", 1))

    def leave(self, worker: WorkerId) -> None:
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zrem(self._keys.workers, worker)
            pipe.delete(self._keys.worker(worker))
            pipe.execute()

    def now_ms(self) -> int:
        """The time by Redis, which all that is stored goes by."""
        with store_errors():
            seconds, micros = self._redis.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def is_alive(self, worker: WorkerId) -> bool:
        """Whether a process has renewed its leases within the last lease.

        A beat that lies ahead is from before the clock stepped back. Whoever lives renews it within a second.
        """
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.zscore(self._keys.workers, worker)
            (seconds, micros), beat = pipe.execute()
        return beat is not None and abs(seconds * 1000 + micros // 1000 - beat) < self._lease_ms

    def workers(self) -> list[WorkerInfo]:
        """Everyone who ticked within the last day, newest first."""
        with store_errors():
            beats: Any = self._redis.zrange(self._keys.workers, 0, -1, desc=True, withscores=True)
            with self._redis.pipeline(transaction=False) as pipe:
                pipe.time()
                for worker, _ in beats:
                    pipe.hgetall(self._keys.worker(str(worker)))
                (seconds, micros), *facts = each_answer(pipe)
        now = seconds * 1000 + micros // 1000
        return [
            WorkerInfo(WorkerId(str(worker)), abs(now - beat) < DEAD_AFTER_MS, int(beat), fact or {})
            for (worker, beat), fact in zip(beats, facts, strict=True)
        ]

    def prune(self) -> None:
        """Forget in the index the runs whose records have expired, and the suspects of processes long dead."""
        k = self._keys
        run_script(
            self._redis,
            "prune",
            keys={**k.shared("runs", "suspects", "workers")},
            args={
                "kept_ms": RUNS_KEPT_MS,
            },
        )
