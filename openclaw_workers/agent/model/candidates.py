"""The interface of failover for the agent loop: which model to call next, with which key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from openclaw_workers.errors import ProviderError
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model with one key."""

    provider: Provider
    model: str
    endpoint: Endpoint | None = None

    @property
    def name(self) -> str:
        return f"{self.provider.name}/{self.model}"

    @property
    def profile(self) -> str:
        return self.endpoint.profile_id if self.endpoint else ""


Check = Callable[[Candidate], None]


class Chain(Protocol):
    """The models of one turn, in the order in which they are tried."""

    def choose(
        self, call_id: str, tokens: Callable[[Candidate], int], check: Check, *, is_side_call: bool = False
    ) -> Candidate:
        """Choose the model to call now. This may wait for a rate limit or a budget, within the turn's time.

        `tokens` returns an upper bound of the request's size; it is called only if needed. `check` may raise before
        anything is reserved. A side call goes only to models that can summarise.

        Raises:
            ProviderError: no model is left; the message says what happened to each.
            TurnEnded: the turn ended in the meantime, or a budget is used up.
        """

    def failed(self, candidate: Candidate, error: ProviderError, seconds: float) -> None:
        """Note a failure; the next `choose` continues from there.

        Raises:
            ProviderError: no other model could do better.
        """

    def succeeded(self, candidate: Candidate, seconds: float) -> None:
        """Note an answer and its duration."""

    def left(self, candidate: Candidate) -> None:
        """Note that the call was abandoned, which says nothing about the model."""

    def start_over(self) -> None:
        """Start again with the first model, because a call failed that the turn can do without."""
