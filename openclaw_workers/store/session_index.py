"""All sessions in pages, last used first, and how far the walk of the fleet has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.stored_json import record_fields, record_json
from openclaw_workers.store.client import Client, store_errors, write
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import each_answer

_ROW = (
    "updatedAt",
    "lastInteractionAt",
    "lastChannel",
    "transient",
    "threadBinding",
)


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What decides about a session that nobody uses."""

    key: SessionKey
    updated_at: int
    last_interaction_at: int
    last_channel: str = ""
    is_transient: bool = False
    is_bound: bool = False
    """A thread leads to it."""
    entries: int = 0
    """Length of its transcript."""
    is_busy: bool = False
    """A run of it, a message to it or a sub-agent of it is not done."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How far a walk over all sessions has come. `score` and `skip`: where the next page begins."""

    begun_at: int
    score: int | None = None
    skip: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """Sessions seen so far, by agent."""
    done: dict[str, int] = field(default_factory=dict)
    """What was done or found so far, by reason."""


class SessionIndex:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def page(self, walk: Walk, size: int) -> list[tuple[SessionKey, int]]:
        """The next sessions with the time of their last use.

        By time instead of by rank: sessions that are used meanwhile move to the front, and all others would change
        their rank. `skip` counts those of the same millisecond that were seen.
        """
        highest: Any = "+inf" if walk.score is None else walk.score
        with store_errors():
            found: Any = self._redis.zrange(
                self._keys.sessions,
                highest,
                "-inf",
                desc=True,
                byscore=True,
                offset=walk.skip,
                num=size,
                withscores=True,
            )
        return [(SessionKey(str(key)), int(score)) for key, score in found]

    def facts(self, sessions: Sequence[SessionKey]) -> list[SessionFacts | None]:
        """In the same order; None for a session that is gone or cannot be read."""
        k = self._keys
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for key in sessions:
                pipe.hmget(k.row(key), _ROW)
                pipe.hget(k.ctl(key), "state")
                pipe.llen(k.log(key))
                pipe.zcard(k.inbox(key))
                pipe.zcard(k.batches(key))
                pipe.zcard(k.live(key))
            replies = each_answer(pipe)
        size = len(replies) // len(sessions) if sessions else 0
        return [_facts(key, replies[i * size : (i + 1) * size]) for i, key in enumerate(sessions)]

    def walk(self) -> Walk | None:
        """The walk that is under way."""
        with store_errors():
            raw = self._redis.hget(self._keys.maintenance, "walk")
        return Walk(**record_fields(str(raw), "walk over all sessions")) if raw else None

    def last(self) -> Walk | None:
        """The last walk that came to its end."""
        with store_errors():
            raw = self._redis.hget(self._keys.maintenance, "last")
        return Walk(**record_fields(str(raw), "walk over all sessions")) if raw else None

    def keep(self, walk: Walk) -> None:
        """Let whoever comes next go on from here."""
        write(self._redis, (self._keys.maintenance, "HSET", "walk", record_json(asdict(walk))))

    def finish(self, walk: Walk) -> None:
        key = self._keys.maintenance
        write(self._redis, (key, "HSET", "last", record_json(asdict(walk))), (key, "HDEL", "walk"))

    def claim_files(self, place: str, seconds: int) -> bool:
        """Become the one that looks through the files of a place in this period."""
        with store_errors():
            # Never given back: the expiry is what keeps all others away for the period.
            return bool(self._redis.set(self._keys.maintenance_files(place), "1", nx=True, ex=seconds))


def _facts(key: SessionKey, replies: Sequence[Any]) -> SessionFacts | None:
    row, state, entries, inbox, batches, live = replies
    updated_at, interaction, channel, transient, binding = row or [None] * len(_ROW)
    if not (updated_at and str(updated_at).isdecimal()):
        return None
    return SessionFacts(
        key,
        int(updated_at),
        int(interaction) if interaction and str(interaction).isdecimal() else int(updated_at),
        channel or "",
        transient == "1",
        bool(binding),
        entries or 0,
        (state or "idle") != "idle" or bool(inbox or batches or live),
    )
