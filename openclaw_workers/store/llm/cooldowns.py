"""Which keys of which providers work just now, known to the whole fleet: one worker's 429 spares all others."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openclaw_workers.errors import FailureReason
from openclaw_workers.logger import get_logger
from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import Keys

log = get_logger(__name__)

MINUTE, HOUR = 60_000, 3_600_000
PAUSES: dict[FailureReason, tuple[int, int]] = {
    FailureReason.RATE_LIMIT: (5 * MINUTE, HOUR),
    FailureReason.AUTH: (5 * MINUTE, HOUR),
    FailureReason.TIMEOUT: (MINUTE // 2, 5 * MINUTE),
    FailureReason.BILLING: (5 * HOUR, 24 * HOUR),
    FailureReason.AUTH_PERMANENT: (24 * HOUR, 24 * HOUR),
}
"""First and longest cooldown by reason, doubling on repeats; other failures say nothing about the key."""

PERMANENT = frozenset({FailureReason.BILLING, FailureReason.AUTH_PERMANENT})
"""What does not pass by itself: such a key is not even probed."""

JITTER_THOUSANDTHS = 100
PROBE_EVERY_MS = 30_000


@dataclass(frozen=True, slots=True)
class KeyState:
    """How one key stands; `until` is 0 when it may be used."""

    until: int = 0
    reason: FailureReason | None = None
    """The one that keeps it from being used; of several a permanent one, else the one that lasts longest."""
    used_at: int = 0
    has_failed: bool = False
    """A failure is noted, even if its cooldown is over: the next success must be noted too, which clears it."""


class Cooldowns:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def states(self, names: Sequence[str]) -> tuple[dict[str, KeyState], int]:
        """How these keys stand, and the time by Redis."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            for name in names:
                pipe.hmget(self._keys.cooldown(name), _FIELDS)
            (seconds, micros), *found = pipe.execute()
        now = seconds * 1000 + micros // 1000
        return {name: _state(name, fields, now) for name, fields in zip(names, found, strict=True)}, now

    def failed(self, name: str, call: str, reason: FailureReason, retry_after_ms: int = 0) -> None:
        """Note a failure, which starts a cooldown."""
        first, longest = PAUSES.get(reason, (0, 0))
        asked = retry_after_ms if reason is FailureReason.RATE_LIMIT else 0
        self._note(name, call, reason, pauses=(first, longest, asked))

    def succeeded(self, name: str, call: str, took_ms: int) -> None:
        """Note a success: the key may be used again, unless it has failed since the call began."""
        self._note(name, call, "", took_ms=took_ms)

    def may_probe(self, name: str) -> bool:
        """Whether this call may try a key in its cooldown; one call of all workers at a time."""
        # Nobody gives this back. It expires, so that a prober which dies does not block the key.
        (probing,) = write(self._redis, (self._keys.probe(name), "SET", 1, "NX", "PX", PROBE_EVERY_MS))
        return bool(probing)

    def _note(
        self, name: str, call: str, reason: str, *, pauses: tuple[int, int, int] = (0, 0, 0), took_ms: int = 0
    ) -> None:
        first, longest, asked = pauses
        run_script(
            self._redis,
            "cooldown",
            keys={"cooldowns": self._keys.cooldown(name)},
            args={
                "call": call,
                "reason": reason,
                "first_ms": first,
                "longest_ms": longest,
                "asked_ms": asked,
                # Drawn here: Redis seeds the random numbers of Lua alike for each script.
                "jitter": random.randrange(JITTER_THOUSANDTHS),
                "took_ms": took_ms,
            },
        )


_FIELDS = [*(f"until_{reason}" for reason in PAUSES), "failed_at", "used_at"]


def _state(name: str, fields: Sequence[str | None], now: int) -> KeyState:
    *ends, failed_at, used_at = (_time(name, value) for value in fields)
    paused = {reason: end for reason, end in zip(PAUSES, ends, strict=True) if end > now}
    has_failed = any(ends)
    if (
        not paused or failed_at > now
    ):  # in the future: the clock stepped back, and a cooldown would last longer by the step
        return KeyState(used_at=used_at, has_failed=has_failed)
    # A permanent reason first: a key without credit must not be probed because it is also rate limited.
    worst = max(paused, key=lambda reason: (reason in PERMANENT, paused[reason]))
    return KeyState(max(paused.values()), worst, used_at, has_failed)


def _time(name: str, value: str | None) -> int:
    """A value that cannot be read counts as missing: at worst one more call fails."""
    if value is None or value.isdecimal():
        return int(value or 0)
    log.warning("health.unreadable", key=name, value=value[:40])
    return 0


_NAME = re.compile(r"(?P<provider>[^/]+)/(?P<profile>.+?)(?:@(?P<key>[0-9a-f]{8}))?(?:/(?P<model>.+))?")
"""As providers.endpoint.Endpoint.known_as writes it, with a model if the cooldown is for that one alone."""


@dataclass(frozen=True, slots=True)
class Cooldown:
    """Why and until when a key is not used, or one model with that key."""

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
        """Every cooldown that is not over, the longest first; and the time by Redis.

        It looks through all keys there are, for nothing else needs a list of them: not for programs that ask often.
        """
        with store_errors():
            prefix = self._keys.cooldown("")
            names = [str(key).removeprefix(prefix) for key in self._redis.scan_iter(f"{prefix}*", count=1000)]
            # The pattern finds the keys of probes too.
            names = sorted({name for name in names if self._keys.probe(name.removesuffix(":probe")) != prefix + name})
            seconds, micros = self._redis.time()
            now = int(seconds) * 1000 + int(micros) // 1000
            fields = ["failed_at", *(f"until_{reason}" for reason in PAUSES)]
            with self._redis.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.hmget(self._keys.cooldown(name), fields)
                found = pipe.execute()
        cooldowns = [each for name, ends in zip(names, found, strict=True) for each in _cooldowns(name, ends, now)]
        return sorted(cooldowns, key=lambda each: (-each.until, each.known_as)), now

    def end(self, cooldowns: Sequence[Cooldown]) -> None:
        """Let these keys be used again at once; what was counted against them is forgotten."""
        names = {each.known_as for each in cooldowns}
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for name in sorted(names):
                pipe.delete(self._keys.cooldown(name), self._keys.probe(name))
            pipe.execute()


def _cooldowns(name: str, fields: Sequence[str | None], now: int) -> Iterator[Cooldown]:
    failed_at, *ends = fields
    known = _NAME.fullmatch(name)
    if failed_at and failed_at.isdecimal() and int(failed_at) > now:
        return  # as in `_state`: the clock stepped back
    for reason, end in zip(PAUSES, ends, strict=True):
        if known and end and end.isdecimal() and int(end) > now:
            parts = {part: text or "" for part, text in known.groupdict().items()}
            yield Cooldown(known_as=name, reason=reason, until=int(end), **parts)
