"""Which place holds the files of an agent, and whether workers see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import Keys

MOVING = "moving "
"""Begins the binding of an agent whose files are being moved; the id of the move follows."""
ALIVE_MS = 10_000
"""As `PLACE_ALIVE_MS` in lib/places.lua."""


@dataclass(frozen=True, slots=True)
class BoundAgent:
    agent_id: str
    place: str
    """The id of the place, or the move of it."""
    where: str
    """Host and directory where a worker last saw it; empty if none ever did."""
    seen_at: int | None
    """When a worker that takes turns last saw it; None if none ever did."""
    is_seen: bool
    """Whether one sees it now."""
    waiting: int
    """Sessions that wait until a worker sees it."""
    has_queue: bool
    """Whether the workers that see it have a queue of their own, because others do not see it."""

    @property
    def is_moving(self) -> bool:
        return self.place.startswith(MOVING)


class Places:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def all(self) -> list[BoundAgent]:
        """Every agent that is bound to a place, by name."""
        with store_errors():
            bound: Any = self._redis.hgetall(self._keys.places)
        return self._read(dict(sorted(bound.items())))

    def of(self, agent_id: str) -> BoundAgent | None:
        with store_errors():
            place = self._redis.hget(self._keys.places, agent_id)
        return self._read({agent_id: str(place)})[0] if place else None

    def route(self, agent_id: str) -> str:
        """The place whose workers have a queue of their own for the agent; "" if there is none."""
        found = self.of(agent_id)
        return found.place if found and found.has_queue else ""

    def _read(self, bound: dict[str, str]) -> list[BoundAgent]:
        k = self._keys
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            for agent, place in bound.items():
                pipe.hget(k.places_where, place)
                pipe.zscore(k.places_seen, place)
                pipe.zscore(k.places_apart, agent)
                pipe.scard(k.place_waits(place))
            (seconds, micros), *found = pipe.execute()
        now = seconds * 1000 + micros // 1000
        return [
            BoundAgent(
                agent,
                place,
                where=str(found[4 * at] or ""),
                seen_at=None if (seen := found[4 * at + 1]) is None else int(seen),
                is_seen=seen is not None and abs(now - seen) < ALIVE_MS,
                waiting=int(found[4 * at + 3]),
                has_queue=found[4 * at + 2] is not None and not place.startswith(MOVING),
            )
            for at, (agent, place) in enumerate(bound.items())
        ]
