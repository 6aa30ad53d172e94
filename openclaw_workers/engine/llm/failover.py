"""Failover: which model is called next, and with which key.

Every failure is stored in Redis under its key, so that other workers do not repeat it. A turn tries its models in
order, and the keys of each. A key in cooldown is skipped; only the model that was asked for is probed, one call at a
time.
"""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from math import inf

import structlog

from openclaw_workers.agent.model.candidates import Candidate, Check
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.runs import ModelAttempt
from openclaw_workers.engine.llm.admission import SHOWN_AFTER_SECONDS, Admission
from openclaw_workers.engine.llm.keyring import Keyring, Option
from openclaw_workers.errors import FailureReason, ProviderError, describe_cooldown
from openclaw_workers.metrics import FAILOVERS

log = structlog.get_logger(__name__)

NEVER = frozenset({FailureReason.CONTEXT_OVERFLOW})
"""Failures that another model would have too."""
AGAIN = frozenset({FailureReason.CUT, FailureReason.TIMEOUT, FailureReason.RATE_LIMIT})
"""Worth another try with the same model if there is no other; so is every server error (5xx)."""
OF_THE_KEY = frozenset({FailureReason.AUTH, FailureReason.AUTH_PERMANENT})
"""Failures of the key, not of the model. A changed key is a new one, without a cooldown."""
_EACH = "`ocw runs show` lists each attempt"
_PAUSED = "`ocw models status` lists the pauses, `ocw models resume <provider>` ends one"
_NEW_KEY = "a key that was changed is tried at once"
RETRIES = 2
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30
SPREAD = 0.5
"""Those who waited for a cooldown to end come back spread over this share of it."""

Refused = tuple[FailureReason, str]
"""Why a model must not be asked."""


@dataclass
class ModelChain:
    """Implements agent.model.candidates.Chain for one turn."""

    options: Sequence[Option]
    keyring: Keyring
    guard: Admission
    cancel: Cancel
    on_skip: Callable[[ModelAttempt], None] = lambda _: None
    """Called for each model that is passed over. Failed calls reach the call log through the asker."""
    seconds_left: Callable[[], float] = lambda: inf
    """What is left of the turn's time."""
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS
    """How long it waits at most for a key in cooldown, or for a server that names a time."""
    refused: Mapping[str, Refused] = field(default_factory=dict)
    """Models that must not be asked in this turn, and why."""
    attempts: list[ModelAttempt] = field(default_factory=list)
    answered: Candidate | None = None
    _spent: set[str] = field(default_factory=set)
    """Keys that failed in this turn."""
    _skipped: set[str] = field(default_factory=set)
    _retries: int = 0
    _following: Candidate | None = None
    """The next model, once it is chosen: choosing it may have claimed a probe."""
    _is_side_call: bool = False
    """Models that cannot summarise are passed over: their answer would replace the conversation."""

    def choose(
        self, call_id: str, tokens: Callable[[Candidate], int], check: Check, *, is_side_call: bool = False
    ) -> Candidate:
        self._is_side_call = is_side_call
        candidate, self._following = self._following or self._next() or self._after_a_pause(), None
        if candidate is None:
            raise self._all_failed()
        # Before the reservation: a request that does not fit this model must not take budget.
        check(candidate)
        self.guard.enter(candidate, call_id, tokens, self.cancel)
        return candidate

    def failed(self, candidate: Candidate, error: ProviderError, seconds: float) -> None:
        self.guard.leave()
        self.attempts.append(attempt_of(candidate, error, seconds))
        # The same request would fail with every model.
        if error.reason in NEVER:
            raise error
        # The next call leaves out what the API refused, such as a file. Nothing is wrong with the key.
        if error.will_differ:
            self._following = candidate
            return
        self.keyring.failed(candidate, error)
        self._spent.add(_spent_name(self.attempts[-1]))
        log.warning(
            "model.failed",
            model=candidate.name,
            profile=candidate.profile,
            reason=error.reason,
            what=error.description,
            error=error.message,
        )
        self._following = self._next() or self._once_more(candidate, error) or self._after_a_pause()
        if self._following is None:
            raise self._all_failed(error)

    def succeeded(self, candidate: Candidate, seconds: float) -> None:
        self.guard.leave()
        self._retries, self.answered = 0, candidate
        if candidate.name != self.wanted:
            FAILOVERS.add(self.wanted, candidate.name)
        # A later call of this turn may use the key again, although it failed before.
        self._spent.discard(f"{candidate.name}|{candidate.profile}")
        self.keyring.succeeded(candidate, seconds)

    def left(self, candidate: Candidate) -> None:
        self.guard.leave()

    def start_over(self) -> None:
        """Forget which keys failed in this turn. Cooldowns, which the whole fleet shares, remain."""
        self._spent.clear()
        self._retries, self._following = 0, None

    def asked_last(self, tried: Sequence[ModelAttempt]) -> Candidate:
        """Which model a dead owner of this run was calling, as far as its attempts and the keys' cooldowns show."""
        failed = [each for each in tried if not (each.skipped or each.again)]
        spent = set(map(_spent_name, failed))
        standing = self.keyring.look(self.options)
        for option in self.options:
            keys = self._unspent(option, spent)
            if usable := [each for each in keys if not self.keyring.state(standing, each).until]:
                return self.keyring.best(standing, option, usable)
        everyone = [option.by(each) for option in self.options for each in option.endpoints]
        last = (failed[-1].model, failed[-1].profile) if failed else None
        return next((each for each in everyone if (each.name, each.profile) == last), everyone[0])

    @property
    def fallback(self) -> str:
        """What to tell people when another model than the one asked for answered; "" otherwise."""
        if self.answered is None or self.answered.name == self.wanted:
            return ""
        return f"{self.wanted} failed: {self.failure}. {self.answered.name} answered instead."

    @property
    def wanted(self) -> str:
        """The model that was asked for."""
        return self.options[0].name

    @property
    def failure(self) -> str:
        """Why the model that was asked for did not answer."""
        wanted = self.wanted
        return next((each.error for each in reversed(self.attempts) if each.model == wanted), "it was not available")

    @property
    def served_by(self) -> str:
        """The key to stay with in this session, where there are several."""
        option = next((each for each in self.options if self.answered and each.name == self.answered.name), None)
        if option is None or self.answered is None or len(option.endpoints) < 2:
            return ""
        return f"{self.answered.provider.name}/{self.answered.profile}"

    def _once_more(self, candidate: Candidate, error: ProviderError) -> Candidate | None:
        """The same model again when no other is left, if a retry may help and the retries are not used up."""
        asked = error.retry_after
        # A limit that names no end has ours, which is longer than a turn should wait.
        unending = error.reason is FailureReason.RATE_LIMIT and asked is None
        too_long = unending or (asked or 0) > self.longest_pause_seconds
        may_help = error.reason in AGAIN or (error.status or 0) >= 500
        if too_long or not may_help or self._retries >= RETRIES:
            return None
        self._retries += 1
        pause = max(PAUSE_SECONDS * self._retries, asked or 0)
        self._wait(pause, f"{candidate.name} failed ({error.description})")
        return candidate

    def _after_a_pause(self) -> Candidate | None:
        """When all keys are in cooldown, wait for the first to end, if it is short."""
        resting = [each for option in self.options for each in self._unspent(option, self._spent)]
        seconds = self.keyring.pause_seconds(self.keyring.look(self.options), resting)
        if seconds is None or seconds > self.longest_pause_seconds:
            return None
        self._wait(max(0.0, seconds), "all models are in cooldown after failures")
        return self._next()

    def _wait(self, seconds: float, why: str) -> None:
        """Wait, with jitter: turns that failed together, or wait for the same key, must not return together.

        More turns gather in a longer wait, so the jitter grows with it. It never uses up the turn's time.
        """
        spare = max(0.0, self.seconds_left() - seconds) / 2
        seconds += random.uniform(0, min(max(PAUSE_SECONDS, seconds * SPREAD), spare))
        if seconds > SHOWN_AFTER_SECONDS:
            self.guard.on_wait(f"{why}, another try in {seconds:.0f} s")
        self.cancel.wait(seconds)

    def _next(self) -> Candidate | None:
        """The first option with a key that may be used (docs/models.md, cooldowns)."""
        standing = self.keyring.look(self.options)
        for index, option in enumerate(self.options):
            if option.name in self.refused:
                self._skip(option, *self.refused[option.name])
                continue
            keys = self._unspent(option, self._spent)
            usable = [each for each in keys if not self.keyring.state(standing, each).until]
            if usable:
                return self.keyring.best(standing, option, usable)
            # Only the model that was asked for is probed: a fallback is not worth a call that may fail.
            if index == 0 and (probed := self.keyring.probe(standing, keys)):
                return probed
            if keys:
                reason, seconds = self.keyring.rest(standing, keys)
                why = f"provider {option.provider.name} is in cooldown after a failure ({describe_cooldown(reason)})"
                self._skip(option, reason, f"{why}, for another {_span(seconds)}")
        return None

    def _unspent(self, option: Option, spent: set[str]) -> list[Candidate]:
        """The keys of a model that have not failed, if it can do what is asked."""
        if option.name in self.refused or f"{option.name}|" in spent:
            return []
        if self._is_side_call and not option.provider.can_summarise:
            return []
        candidates = [option.by(each) for each in option.endpoints]
        return [each for each in candidates if f"{each.name}|{each.profile}" not in spent]

    def _skip(self, option: Option, reason: FailureReason, why: str) -> None:
        if option.name in self._skipped:
            return
        self._skipped.add(option.name)
        skipped = ModelAttempt(id=secrets.token_hex(8), model=option.name, reason=reason, error=why, skipped=True)
        self.attempts.append(skipped)
        self.on_skip(skipped)

    def _all_failed(self, last: ProviderError | None = None) -> ProviderError:
        # With one model there is nothing to list: its own error says most.
        if last is not None and len({each.model for each in self.attempts}) == 1:
            return last
        final = self.attempts[-1]
        counts = Counter(f"{each.model}: {each.error}{_cause(each)}" for each in self.attempts)
        attempts = " | ".join(f"{text} {count} times" if count > 1 else text for text, count in counts.items())
        paused = {each.reason for each in self.attempts if each.skipped and each.model not in self.refused}
        hints = [*([_NEW_KEY] if paused & OF_THE_KEY else []), *([_PAUSED] if paused else []), _EACH]
        return ProviderError(
            f"all models failed ({len(self.attempts)}): {attempts}",
            # The reason says what follows; people also read what happened to the last call.
            reason=last.reason if last else final.reason,
            status=last.status if last else final.status,
            code=last.code if last else final.code,
            hint="; ".join(hints),
        )


def _cause(failed: ModelAttempt) -> str:
    """A skipped model was not called, and its text says why."""
    return "" if failed.skipped else f" ({failed.description})"


def _span(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes / 60:.0f} h" if minutes >= 90 else f"{minutes:.0f} min" if minutes >= 1.5 else f"{seconds:.0f} s"


def _spent_name(failed: ModelAttempt) -> str:
    """A model that does not exist, or rejects the request, does so with every key.

    One that is only forbidden for this key may work with another.
    """
    if failed.reason in (FailureReason.MODEL_NOT_FOUND, FailureReason.FORMAT) and failed.status != HTTPStatus.FORBIDDEN:
        return f"{failed.model}|"
    return f"{failed.model}|{failed.profile}"


def attempt_of(candidate: Candidate, error: ProviderError, seconds: float, call_id: str = "") -> ModelAttempt:
    return ModelAttempt(
        id=call_id,
        model=candidate.name,
        profile=candidate.profile,
        reason=error.reason,
        status=error.status,
        code=error.code,
        error=error.message,
        milliseconds=int(seconds * 1000),
        again=error.will_differ,
    )
