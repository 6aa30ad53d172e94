"""Leases: renewing those of one process, and judging those of others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId, new_token
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.inbox import pairs
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.turn_records import Granted, Lease


@dataclass(frozen=True, slots=True)
class Ticked:
    is_drained: bool
    """It must take no turns, and hand over those that it has."""
    verdicts: list[str]
    """For each lease: ok, lost, or the reason it must stop."""
    full_percent: int = 0
    """How full Redis is, if that is too much for new work; 0 otherwise."""
    config: str = ""
    """Id of the configuration in force; empty if none is published."""
    secrets_held: frozenset[str] = frozenset()
    """Variables that live workers have."""


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


class Leases:
    """Every worker process renews its own; sweeps look at sessions whose owner is silent."""

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
        secrets: Sequence[str] = (),
    ) -> Ticked:
        """Renew the given leases and say that this process lives; `secrets` are the names of those that it has."""
        k = self._keys
        is_drained, percent, config, held, *verdicts = run_script(
            self._redis,
            "tick",
            keys={
                **k.shared("workers", "due", "memory", "config", "drained"),
                "held": k.secrets_held,
                "worker_key": k.worker(worker),
            },
            args={
                "worker": worker,
                "lease_ms": self._lease_ms,
                "facts": json.dumps(facts),
                "secrets": json.dumps(list(secrets)),
            },
            more_keys=[key for lease in leases for key in (k.ctl(lease.session), k.slots(lease.lane))],
            more_args=[word for lease in leases for word in (lease.session, lease.token, lease.run)],
        )
        return Ticked(
            bool(is_drained), [str(verdict) for verdict in verdicts], int(percent), str(config), frozenset(held.split())
        )

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
