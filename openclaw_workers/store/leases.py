"""Leases: renewing those of one process, and judging those of others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId, new_token
from openclaw_workers.domain.outgoing import NO_DELIVERY, Delivery
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.session_key import agent_of
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
    routes: Mapping[str, str] = field(default_factory=dict)
    """Agents whose wake-ups go to the workers that see their place -> that place."""
    moves: Mapping[str, str] = field(default_factory=dict)
    """Agents whose files are being moved -> the move."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What to do about a session: `wake` its run, have any worker `end` it, `settle` it with `lease`, or nothing."""

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
        workspaces: Mapping[str, tuple[str, str]] | None = None,
        *,
        takes_turns: bool = True,
    ) -> Ticked:
        """Renew the given leases and say that this process lives; `secrets` are the names of those that it has.

        `workspaces`: for each agent with a place, the place that this host sees for it, and the directory.
        """
        k = self._keys
        is_drained, percent, config, held, routes, moves, *verdicts = run_script(
            self._redis,
            "tick",
            keys={
                **k.shared("workers", "due", "memory", "config", "drained", "moves"),
                **k.shared("places", "places_seen", "places_apart", "places_where"),
                "waits_prefix": k.place_waits(""),
                "held": k.secrets_held,
                "worker_key": k.worker(worker),
            },
            args={
                "worker": worker,
                "lease_ms": self._lease_ms,
                "facts": json.dumps(facts),
                "secrets": json.dumps(list(secrets)),
                "workspaces": json.dumps(workspaces or {}),
                "takes_turns": takes_turns,
            },
            # One script for all turns of the process: hundreds of renewals a second would keep Redis busy (rule 8).
            more_keys=[key for lease in leases for key in (k.ctl(lease.session), k.slots(lease.lane))],
            more_args=[word for lease in leases for word in (lease.session, lease.token, lease.run)],
        )
        return Ticked(
            bool(is_drained),
            [str(verdict) for verdict in verdicts],
            int(percent),
            str(config),
            frozenset(held.split()),
            dict(zip(routes[::2], routes[1::2], strict=True)),
            dict(zip(moves[::2], moves[1::2], strict=True)),
        )

    def recover(
        self,
        session: SessionKey,
        lane: Lane,
        sweeper: WorkerId,
        *,
        oldest_wake_ms: int,
        cap: int,
        max_attempts: int,
        is_placed: bool = True,
        delivery: Delivery = NO_DELIVERY,
    ) -> tuple[RunId | None, Recovery]:
        """Look at one due session; returns its current run and what is to be done.

        `is_placed`: its turns run only where a worker sees the files of its agent. `delivery`: what the chat is sent if
        it waits for that.
        """
        k = self._keys
        with store_errors():
            run = self._redis.hget(k.ctl(session), "run")
        # The script must be given the key of the run before it runs. If another run is current by then, it says which.
        for _ in range(5):
            current = RunId(str(run or ""))
            reply = run_script(
                self._redis,
                "recover",
                keys={
                    **k.for_session(session, "ctl", "events", "row"),
                    **k.shared("due", "running", "suspects", "sweep", "outgoing"),
                    **k.shared("places", "places_seen", "places_where"),
                    "waits_prefix": k.place_waits(""),
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
                    "agent": agent_of(session),
                    "is_placed": is_placed,
                    "delivery": delivery.as_json,
                },
            )
            match reply:
                case ["other", other]:
                    run = other
                case ["settle", token, granted, losses, stood_still]:
                    lease = Lease(session, current, lane, token)
                    return current, Recovery("settle", lease, pairs(granted), int(losses), bool(stood_still))
                case [verb, granted]:
                    return current, Recovery(verb, granted=pairs(granted))
                case [verb]:
                    return current, Recovery(verb)
        # The run changed five times meanwhile, so somebody works on it. The item is due again when its claim ends.
        return None, Recovery("wait")
