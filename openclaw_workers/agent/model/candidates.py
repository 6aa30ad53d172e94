"""Which model is asked, and with which key: what the loop needs to know of failover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from openclaw_workers.errors import ProviderError
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model by one key."""

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
    """The models of one turn, in the order they are tried."""

    def choose(
        self, call_id: str, tokens: Callable[[Candidate], int], check: Check, *, aside: bool = False
    ) -> Candidate:
        """The one to ask now. May wait for a limit or a budget, within the turn's time.

        `tokens` tells how large its request is at most, and is asked only where that counts. `check` may raise before
        anything is taken from a limit or a budget. What is asked `aside` is asked only of models that can summarise.

        Raises:
            ProviderError: none is left; it says what became of each.
            TurnEnded: the turn ended meanwhile, or nothing more may be spent.
        """

    def failed(self, candidate: Candidate, error: ProviderError, seconds: float) -> None:
        """Note a failure; `choose` goes on from there.

        Raises:
            ProviderError: no other model can do better.
        """

    def succeeded(self, candidate: Candidate, seconds: float) -> None:
        """Note an answer, and how long it took."""

    def left(self, candidate: Candidate) -> None:
        """Note that the call was given up, which says nothing about the model."""

    def begin_anew(self) -> None:
        """A question failed that the turn can do without: the next one may be asked of every model again."""
