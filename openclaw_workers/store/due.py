"""The index of what is due, which sweeps claim in portions (rule 15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import Keys

CLAIMED_AT_ONCE = 200
# A sweeper that dies leaves its items to the others after this time.
CLAIM_MS = 5_000


class Claim(NamedTuple):
    wait_ms: int
    """After which the sweeper is to come for the next item; -1 if it need not."""
    workers: int
    """How many are alive."""
    items: list[str]


class DueItems:
    def __init__(self, redis: Client, keys: Keys, *, lease_ms: int) -> None:
        self._redis = redis
        self._keys = keys
        self._lease_ms = lease_ms

    def claim(self, place: str = "", *, soon_ms: int = CLAIM_MS) -> Claim:
        """Claim what is due.

        `place`: the state directory of the caller, for archives that only it can write. `soon_ms`: how long the caller
        can wait for the next item; only one sweeper is asked to come back for it.
        """
        k = self._keys
        wait_ms, workers, *items = run_script(
            self._redis,
            "due",
            keys={
                **k.shared("due", "sweep", "workers"),
                "waiting": k.archives_at(place),
                "stepped": k.due_before_step,
            },
            args={"lease_ms": self._lease_ms, "most": CLAIMED_AT_ONCE, "claim_ms": CLAIM_MS, "soon_ms": soon_ms},
        )
        return Claim(int(wait_ms), int(workers), [str(item) for item in items])

    def later(self, item: str, delay_ms: int) -> None:
        """Look at a claimed item again after a while; one that is done meanwhile stays done."""
        # The claim has moved the item by CLAIM_MS already.
        write(self._redis, (self._keys.due, "ZADD", "XX", "INCR", delay_ms - CLAIM_MS, item))

    def give_back(self, items: Sequence[str]) -> None:
        """Leave claimed items to any sweeper, at once; one that is done meanwhile stays done."""
        now = self.now_ms()
        write(self._redis, (self._keys.due, "ZADD", "XX", *(part for item in items for part in (now, item))))

    def add(self, item: str, delay_ms: int) -> None:
        """Look at an item after a while, unless it is in the index already."""
        write(self._redis, (self._keys.due, "ZADD", "NX", self.now_ms() + delay_ms, item))

    def done(self, item: str) -> None:
        with store_errors():
            self._redis.zrem(self._keys.due, item)

    def now_ms(self) -> int:
        """The time by Redis, which all that is stored goes by."""
        with store_errors():
            # Not the clock of this host: all scores in the index are by Redis' clock.
            seconds, micros = self._redis.time()
        return int(seconds) * 1000 + int(micros) // 1000
