"""The pauses that keys are in, for people to look at and to end; `health` notes them, and obeys them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openclaw_workers.errors import FailureReason
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.llm.cooldowns import PAUSES

_NAME = re.compile(r"(?P<provider>[^/]+)/(?P<profile>.+?)(?:@(?P<key>[0-9a-f]{8}))?(?:/(?P<model>.+))?")
"""As providers.endpoint.Endpoint.known_as writes it, with a model where the pause is that one's."""


@dataclass(frozen=True, slots=True)
class Cooldown:
    """Why and until when a key is left alone, or one model by that key."""

    known_as: str
    provider: str
    profile: str
    key: str
    """The beginning of a digest of address and key: one that was changed is another."""
    model: str
    reason: FailureReason
    until: int
    """By Redis' clock, epoch milliseconds."""

    def is_of(self, provider: str, profile: str = "") -> bool:
        return self.provider == provider and profile in ("", self.profile)


class CooldownList:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def all(self) -> tuple[list[Cooldown], int]:
        """Every pause that is not over, those that last longest first; and the time by Redis.

        It looks through all keys there are, for nothing else needs a list of them: not for programs that ask often.
        """
        with store_errors():
            prefix = self._keys.health("")
            names = [str(key).removeprefix(prefix) for key in self._redis.scan_iter(f"{prefix}*", count=1000)]
            names = sorted({name for name in names if self._keys.probe(name.removesuffix(":probe")) != prefix + name})
            seconds, micros = self._redis.time()
            now = int(seconds) * 1000 + int(micros) // 1000
            fields = ["failed_at", *(f"until_{reason}" for reason in PAUSES)]
            with self._redis.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.hmget(self._keys.health(name), fields)
                found = pipe.execute()
        pauses = [each for name, ends in zip(names, found, strict=True) for each in _pauses(name, ends, now)]
        return sorted(pauses, key=lambda pause: (-pause.until, pause.known_as)), now

    def end(self, pauses: Sequence[Cooldown]) -> None:
        """Let these keys be used again at once; what was counted against them is forgotten."""
        names = {pause.known_as for pause in pauses}
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for name in sorted(names):
                pipe.delete(self._keys.health(name), self._keys.probe(name))
            pipe.execute()


def _pauses(name: str, fields: Sequence[str | None], now: int) -> Iterator[Cooldown]:
    failed_at, *ends = fields
    known = _NAME.fullmatch(name)
    if failed_at and failed_at.isdecimal() and int(failed_at) > now:
        return  # as `health` has it: the clock stepped back since
    for reason, end in zip(PAUSES, ends, strict=True):
        if known and end and end.isdecimal() and int(end) > now:
            parts = {part: text or "" for part, text in known.groupdict().items()}
            yield Cooldown(known_as=name, reason=reason, until=int(end), **parts)
