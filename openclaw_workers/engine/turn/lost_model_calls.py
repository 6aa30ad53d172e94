"""Model calls that were under way when their worker died: nobody has their answer, but they were billed (rule 14)."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.resolve import AgentConfig, Overrides
from openclaw_workers.domain.ledger import is_same_owner, next_call_id
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import NOTHING, AgentConfigs
from openclaw_workers.engine.llm.call_log import LostCall
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.tree.lineage import root_of
from openclaw_workers.engine.turn.overrides import session_overrides
from openclaw_workers.errors import BadInput, CorruptRecord, ProviderError
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Lease


class LostCalls:
    def __init__(self, agents: AgentConfigs, models: Models, reader: Reader) -> None:
        self._agents = agents
        self._models = models
        self._reader = reader

    def asked_last(
        self, lease: Lease, dead: Sequence[int], row: dict[str, str], agent: AgentConfig, run: Run | None = None
    ) -> list[LostCall]:
        """Which model each of these owners of a run was calling when it died, as far as is known.

        `run` is the run's record, if the caller has read it.
        """
        chain = self._models.chain(agent, lease.run, root_of(lease.session, row), row, Cancel())
        run = run or self._reader.run(lease.run)
        asked = []
        for fence in dead:
            this = next_call_id(run.last_call if run else "", lease.run, fence)
            # Only its own attempts: each owner begins with the first model again.
            tried = [each for each in run.model_attempts if is_same_owner(each.id, this)] if run else []
            asked.append(LostCall(this, chain.asked_last(tried)))
        return asked

    def entries(
        self, last: Lease, tokens: int, row: dict[str, str] | None = None, *, also: Sequence[int] = ()
    ) -> LedgerEntries:
        """The lost calls of dead owners of a run that nobody continues; `also` adds owners by their fence."""
        run = self._reader.run(last.run)
        dead = [*(run.dead if run else ()), *also]
        if not dead:
            return NO_ENTRIES
        row = self._reader.row(last.session) if row is None else row
        try:
            call = Overrides(model=run.wanted_model) if run else NOTHING
            agent = self._agents.resolve(agent_of(last.session), session_overrides(last.session, row), call)
            calls = self._models.call_log(last.run, last.session, agent, root_of(last.session, row))
            # The record may name an owner that `also` names too, and its call is entered once.
            asked = self.asked_last(last, list(dict.fromkeys(dead)), row, agent, run)
        except (CorruptRecord, BadInput, ProviderError):
            return NO_ENTRIES  # with such settings it cannot have called a model
        for each in asked:
            calls.note_lost(each, tokens)
        return calls.unrecorded()
