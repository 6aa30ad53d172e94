"""Before each model call: wait for the fleet's rate limits in fair order, and reserve from the budgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.ids import RunId
from openclaw_workers.errors import BudgetExhausted, StoreUnavailable
from openclaw_workers.store.llm.rate_limits import Amounts, Budget, Exhausted, Limit, RateLimits

log = structlog.get_logger(__name__)

WAIT_SECONDS = 0.25
RENEW_SECONDS = 3.0
SHOWN_AFTER_SECONDS = 2.0
"""Shorter waits are not shown to viewers."""
_NEXT_DAY = "It starts again at 00:00 UTC; its limit is in the configuration, under budgets or the agent's budget."
_UNITS = {"tokens": "tokens", "cost": "dollars", "calls": "model calls", "seconds": "seconds of work"}


@dataclass(slots=True)
class _Held:
    call: str
    limits: Sequence[Limit]
    cancel: Cancel
    again_at: float
    """When to renew it."""
    began: float | None = None
    """None while it waits."""

    def begin(self) -> None:
        self.began = time.monotonic()

    def renew_in(self, seconds: float) -> None:
        self.again_at = time.monotonic() + seconds


@dataclass(slots=True)
class Admission:
    """For one turn. Without limits and budgets it costs nothing."""

    limits: RateLimits
    run: RunId
    budgets: Sequence[Budget]
    limits_of: Callable[[Candidate], Sequence[Limit]]
    price_of: Callable[[Candidate, int], Amounts]
    on_wait: Callable[[str], None] = lambda _: None
    """Called once for a wait that takes longer, with its reason."""
    _held: _Held | None = None
    """The call that is being made or waits for its turn."""

    def enter(self, candidate: Candidate, call_id: str, tokens: Callable[[Candidate], int], cancel: Cancel) -> None:
        """Wait until the call may be made.

        Raises:
            BudgetExhausted: nothing more may be spent.
            TurnEnded: the turn ended while it waited.
        """
        limits = self.limits_of(candidate)
        try:
            if limits or self.budgets:
                # Counting tokens takes time, so it is done only where something is limited.
                self._enter(candidate, call_id, tokens(candidate), limits, cancel)
            if self._held:
                self._held.begin()
        # Also when the turn is stopped: what was taken must be given back in any case.
        except BaseException:
            self.leave()
            raise

    def _enter(self, candidate: Candidate, call_id: str, size: int, limits: Sequence[Limit], cancel: Cancel) -> None:
        # The budget first: a call that cannot be paid must not hold a place in the rate limit.
        self._reserve(candidate, call_id, size, cancel)
        self._held = _Held(call_id, limits, cancel, time.monotonic() + RENEW_SECONDS)
        wait = self._wait(f"the limits set for {candidate.name} are reached", cancel)
        while limits and (wait_ms := self.limits.ask(limits, self.run, call_id, size)):
            wait(wait_ms / 1000)

    def renew_reservation(self) -> None:
        """Keep what the call has taken while it lasts, and end it when the time of a budget is used up.

        Asked every second, from another thread.

        Raises:
            StoreUnavailable: Redis is away.
        """
        held, now = self._held, time.monotonic()
        if held is None or now < held.again_at:
            return
        # Set before the call: if Redis is away, the next try is not due with every tick.
        held.renew_in(RENEW_SECONDS)
        lasted = now - held.began if held.began else 0.0
        answer = self.limits.renew_reservation(self.run, held.call, held.limits, self.budgets, lasted)
        if isinstance(answer, Exhausted):
            held.cancel.set(_used_up(answer))
        else:
            # Sooner if the time of a budget ends before that.
            held.renew_in(min(RENEW_SECONDS, answer))

    def leave(self) -> None:
        """The call is over. If Redis is away, its places expire: the answer must not be lost for them."""
        held, self._held = self._held, None
        try:
            # Budgets need nothing here: the step that records the call frees its reservation.
            if held and held.limits:
                self.limits.done(held.limits, self.run, held.call)
        except StoreUnavailable as error:
            log.warning("rate_limit.release_failed", error=error.message)

    def _reserve(self, candidate: Candidate, call_id: str, tokens: int, cancel: Cancel) -> None:
        if not self.budgets:
            return
        amounts = self.price_of(candidate, tokens)
        wait = self._wait("other calls have reserved what is left of the budget", cancel)
        while True:
            answer = self.limits.reserve(self.run, call_id, amounts, self.budgets)
            if isinstance(answer, Exhausted):
                raise _used_up(answer)
            if answer:
                return
            wait(WAIT_SECONDS)

    def _wait(self, why: str, cancel: Cancel) -> Callable[[float], None]:
        """A function that waits, and shows the reason once when the wait is long."""
        began, is_shown = time.monotonic(), False

        def wait(seconds: float) -> None:
            nonlocal is_shown
            if not is_shown and time.monotonic() - began + seconds > SHOWN_AFTER_SECONDS:
                is_shown = True
                self.on_wait(why)
            cancel.wait(seconds)

        return wait


def _used_up(answer: Exhausted) -> BudgetExhausted:
    spent = f"{answer.spent:g} of {answer.limit:g} {_UNITS[answer.what]}"
    return BudgetExhausted(f"the budget {answer.budget.name} is used up: {spent}", hint=_NEXT_DAY)
