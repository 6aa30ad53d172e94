"""The keys of a turn's models: their cooldowns, shared by the whole fleet, and which key is used next."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import structlog

from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.errors import FailureReason, ProviderError, StoreUnavailable
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.store.llm.cooldowns import PERMANENT, Cooldowns, KeyState

log = structlog.get_logger(__name__)

Scope = Literal["profile", "model"]


@dataclass(frozen=True, slots=True)
class Option:
    """One model with the keys it can be asked by; a provider without keys has one empty endpoint."""

    provider: Provider
    model: str
    groups: Sequence[Sequence[Endpoint | None]]
    """A group is used when those before it are not usable; the keys of one group are used in turn."""

    @property
    def name(self) -> str:
        return f"{self.provider.name}/{self.model}"

    @property
    def endpoints(self) -> list[Endpoint | None]:
        return [each for group in self.groups for each in group]

    def by(self, endpoint: Endpoint | None) -> Candidate:
        return Candidate(self.provider, self.model, endpoint)


@dataclass(frozen=True, slots=True)
class Standing:
    """How the keys stood when they were looked at, by Redis' clock."""

    states: dict[str, KeyState]
    now: int


@dataclass
class Keyring:
    health: Cooldowns
    scope: Scope = "profile"
    """What a failure is held against: the key, or the key with that model."""
    sticky: str = ""
    """The key that served this session last, as provider/profile."""
    _failed: set[str] = field(default_factory=set)
    """Keys, and models by a key, that have failed before, as they are known in Redis."""
    _shared: set[str] = field(default_factory=set)
    """Keys of models that have several: the one used longest ago comes next."""

    def look(self, options: Sequence[Option]) -> Standing:
        candidates = [option.by(each) for option in options for each in option.endpoints if each]
        names = dict.fromkeys(name for each in candidates for name in (self._name(each), _by_model(each)))
        standing = Standing(*self.health.states(list(names))) if names else Standing({}, 0)
        self._failed = {name for name, state in standing.states.items() if state.has_failed}
        several = (option for option in options if len(option.endpoints) > 1)
        self._shared = {_sticky(option.by(each)) for option in several for each in option.endpoints}
        return standing

    def state(self, standing: Standing, candidate: Candidate) -> KeyState:
        if not candidate.endpoint:
            return KeyState()
        of_key, of_model = (standing.states[name] for name in (self._name(candidate), _by_model(candidate)))
        worst = max(of_key, of_model, key=lambda state: (state.reason in PERMANENT, state.until))
        return replace(worst, used_at=of_key.used_at)

    def best(self, standing: Standing, option: Option, usable: Sequence[Candidate]) -> Candidate:
        """The key that served the session before; else of the first group the one that rested longest."""
        for candidate in usable:
            if candidate.endpoint and self.sticky == _sticky(candidate):
                return candidate
        for group in option.groups:
            if found := [candidate for candidate in usable if candidate.endpoint in group]:
                return min(found, key=lambda candidate: self.state(standing, candidate).used_at)
        return usable[0]

    def probe(self, standing: Standing, resting: Sequence[Candidate]) -> Candidate | None:
        """A key in cooldown to try anyway, if no other call is probing it."""
        for candidate in resting:
            if self.state(standing, candidate).reason not in PERMANENT:
                return candidate if self.health.may_probe(self._name(candidate)) else None
        return None

    def rest(self, standing: Standing, resting: Sequence[Candidate]) -> tuple[FailureReason, float]:
        """Why these keys are in cooldown, by the first of them, and for how many more seconds at least."""
        states = [self.state(standing, candidate) for candidate in resting]
        reason = next((state.reason for state in states if state.reason), FailureReason.UNKNOWN)
        return reason, max(0, min(state.until for state in states) - standing.now) / 1000

    def pause_seconds(self, standing: Standing, resting: Sequence[Candidate]) -> float | None:
        """Seconds until the first cooldown ends; None if there is none worth waiting for."""
        states = [self.state(standing, candidate) for candidate in resting]
        ends = [state.until for state in states if state.until and state.reason not in PERMANENT]
        return (min(ends) - standing.now) / 1000 if ends else None

    def failed(self, candidate: Candidate, error: ProviderError) -> None:
        if candidate.endpoint is not None:
            asked = error.retry_after
            # "Retry at once" becomes a second's cooldown, not the minutes of our own default.
            pause_ms = 0 if asked is None else int((asked or 1.0) * 1000)
            # A time-out concerns this model only, not the others that use the same key.
            name = _by_model(candidate) if error.reason is FailureReason.TIMEOUT else self._name(candidate)
            self.health.failed(name, secrets.token_hex(4), error.reason, pause_ms)

    def succeeded(self, candidate: Candidate, seconds: float) -> None:
        """Store a success only where the fleet needs it: it ends a cooldown, or moves the rotation of keys on.

        For a healthy single key nothing is written.
        """
        if candidate.endpoint is None:
            return
        names = {self._name(candidate), _by_model(candidate)} & self._failed
        if _sticky(candidate) in self._shared - {self.sticky}:
            names.add(self._name(candidate))
        # The provider's prompt cache belongs to the key, so the next call of the turn goes there too.
        self.sticky = _sticky(candidate)
        try:
            for name in names:
                self.health.succeeded(name, secrets.token_hex(4), int(seconds * 1000))
        except StoreUnavailable as error:
            # The answer matters more than the key's cooldown.
            log.warning("cooldown.update_failed", model=candidate.name, error=error.message)

    def _name(self, candidate: Candidate) -> str:
        return _by_model(candidate) if self.scope == "model" else _known(candidate)


def _sticky(candidate: Candidate) -> str:
    return f"{candidate.provider.name}/{candidate.profile}"


def _known(candidate: Candidate) -> str:
    return candidate.endpoint.known_as if candidate.endpoint else _sticky(candidate)


def _by_model(candidate: Candidate) -> str:
    return f"{_known(candidate)}/{candidate.model}"
