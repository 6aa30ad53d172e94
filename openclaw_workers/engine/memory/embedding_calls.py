"""Calls of embedding endpoints in the ledger: under the agent's main session, and against its budgets."""

from __future__ import annotations

import structlog

from openclaw_workers.clock import now_ms
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.ids import RunId, new_token
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.runs import lane_of
from openclaw_workers.domain.session_key import main_key
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.memory.slugs import RecordCalls
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.turn_records import Lease

log = structlog.get_logger(__name__)


class EmbeddingCalls:
    def __init__(self, models: Models, record: RecordCalls) -> None:
        self._models = models
        self._record = record

    def record(self, agent: AgentConfig, provider: str, model: str, tokens: int) -> None:
        session, usage = main_key(agent.id), Usage(input=tokens)
        run = RunId(f"memory-embed-{new_token()}")
        call = ModelCall(
            id=f"{run}:0:1",
            at=now_ms(),
            run=run,
            session=session,
            agent=agent.id,
            tree=session,
            provider=provider,
            model=model,
            usage=usage,
            cost=self._models.price(provider, model, usage),
        )
        budgets = [budget.name for budget in self._models.budgets(agent, session)]
        try:
            self._record(Lease(session, run, lane_of(session), "0:"), LedgerEntries((call,), budgets))
        except StoreUnavailable as error:
            log.warning("memory.embedding_not_booked", error=error.message, tokens=tokens)
