"""The model calls of one turn: what they cost, which budgets they count against, and which failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from openclaw_workers.agent.model.asker import CallNote
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.runs import ModelAttempt
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.engine.llm.failover import attempt_of
from openclaw_workers.metrics import COST, TOKENS
from openclaw_workers.store.llm.ledger_entries import LedgerEntries

Price = Callable[[str, str, Usage], float | None]
"""Dollars for a provider, a model and its tokens; None if the price is not known."""


@dataclass(frozen=True, slots=True)
class LostCall:
    """What an owner of the run was asking when it died, as far as that is known."""

    id: str
    candidate: Candidate


@dataclass
class CallLog:
    run: RunId
    session: SessionKey
    agent: str
    tree: SessionKey
    price: Price
    budgets: Sequence[str] = ()
    _calls: list[ModelCall] = field(default_factory=list)
    _attempts: list[ModelAttempt] = field(default_factory=list)

    def note(self, call: CallNote) -> None:
        provider, model = call.candidate.provider.name, call.candidate.model
        cost = self.price(provider, model, call.usage)
        for kind in ("input", "output", "cache_read", "cache_write"):
            TOKENS.add(call.candidate.name, kind, amount=getattr(call.usage, kind))
        COST.add(call.candidate.name, amount=cost or 0.0)
        self._calls.append(
            ModelCall(
                id=call.id,
                at=now_ms(),
                run=self.run,
                session=self.session,
                agent=self.agent,
                tree=self.tree,
                provider=provider,
                model=model,
                profile=call.candidate.profile,
                usage=call.usage,
                cost=cost or 0.0,
                is_priced=cost is not None,
                milliseconds=int(call.seconds * 1000),
                outcome=call.outcome,
                estimated=call.estimated,
            )
        )
        if call.error:
            self.note_attempt(attempt_of(call.candidate, call.error, call.seconds, call.id))

    def note_attempt(self, attempt: ModelAttempt) -> None:
        """Keep for the run record that a model did not answer."""
        self._attempts.append(attempt)

    def note_lost(self, lost: LostCall, tokens: int) -> None:
        """Rule 14: an owner died while it may have been waiting for the model, and that call was billed all the same.

        If it only slept, it knows the call by the same id.
        """
        self.note(CallNote(lost.id, lost.candidate, Usage(input=tokens), 0.0, "lost", estimated=True))

    def unrecorded(self) -> LedgerEntries:
        """What is not in the ledger yet."""
        return LedgerEntries(tuple(self._calls), self.budgets, tuple(self._attempts))

    def recorded(self, entries: LedgerEntries) -> None:
        # Only these: more calls may have been noted while Redis took them.
        del self._calls[: len(entries.calls)]
        del self._attempts[: len(entries.attempts)]
