"""Ingress processes: who serves, and under which address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import each_answer

BEAT_SECONDS = 5.0
DEAD_AFTER_MS = 15_000
KEPT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class IngressInfo:
    id: str
    alive: bool
    beat_at: int
    facts: dict[str, str]

    @property
    def url(self) -> str:
        return self.facts.get("url", "")


class Ingresses:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def beat(self, ident: str, facts: Mapping[str, str]) -> str:
        """Say that a process serves; returns the id of the configuration in force, "" if none is published."""
        (config,) = run_script(
            self._redis,
            "ingress_beat",
            keys={**self._keys.shared("ingresses", "config"), "ingress_key": self._keys.ingress(ident)},
            args={"id": ident, "facts": json.dumps(dict(facts)), "keep_s": KEPT_SECONDS},
        )
        return str(config)

    def leave(self, ident: str) -> None:
        write(self._redis, (self._keys.ingresses, "ZREM", ident), (self._keys.ingress(ident), "DEL"))

    def all(self) -> list[IngressInfo]:
        """Every process that was heard of within a minute, newest heartbeat first."""
        with store_errors():
            beats: Any = self._redis.zrange(self._keys.ingresses, 0, -1, desc=True, withscores=True)
            with self._redis.pipeline(transaction=False) as pipe:
                pipe.time()
                for ident, _ in beats:
                    pipe.hgetall(self._keys.ingress(str(ident)))
                (seconds, micros), *facts = each_answer(pipe)
        now = seconds * 1000 + micros // 1000
        return [
            IngressInfo(str(ident), abs(now - beat) < DEAD_AFTER_MS, int(beat), fact or {})
            for (ident, beat), fact in zip(beats, facts, strict=True)
        ]
