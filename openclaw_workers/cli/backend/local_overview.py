"""The installation as a whole: status, usage, keys, agents, messages to chats, people."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.engine.approvals.answers import Answers
from openclaw_workers.engine.client_graph import answers_of, pairing_of
from openclaw_workers.queries.agent_answers import agents_answer
from openclaw_workers.queries.model_answers import keys_answer, models_answer, resume_keys, resumed_answer
from openclaw_workers.queries.outbox_answers import outbox_answer
from openclaw_workers.queries.question_answers import (
    answered_answer,
    decided_answer,
    questions_answer,
    revoked_answer,
)
from openclaw_workers.queries.status_answers import usage_answer, usage_totals
from openclaw_workers.queries.worker_answers import mcp_answer, plugin_check, plugins_answer
from openclaw_workers.views.outbox import entry_details_json, entry_json
from openclaw_workers.views.pairing import admission_json, pairing_json

if TYPE_CHECKING:
    from openclaw_workers.domain.ledger import Dimension


BY_TERMINAL = "the owner at the command line"


class LocalOverview(LocalPart):
    def damaged(self) -> Json:
        return {"ok": True, "damaged": self._cli.stores.reader.quarantined()}

    def usage(self, by: str, days: int) -> Json:
        return usage_answer(by, days, *usage_totals(self._cli, cast("Dimension", by), days))

    def keys(self) -> Json:
        return keys_answer(self._cli)

    def models(self) -> Json:
        return models_answer(self._cli)

    def resume_keys(self, wanted: str) -> Json:
        return resumed_answer(*resume_keys(self._cli, wanted))

    def agents(self) -> Json:
        return agents_answer(self._cli.loaded)

    def plugins(self) -> Json:
        return plugins_answer(self._cli)

    def plugin_check(self) -> Json:
        return plugin_check(self._cli)

    def mcp_status(self) -> Json:
        return mcp_answer(self._cli)

    def outbox(self, limit: int, state: str | None, *, with_sent: bool) -> Json:
        return outbox_answer(self._cli, limit, state=state, with_sent=with_sent)

    def outgoing(self, message: str) -> Json:
        return {"ok": True, **entry_details_json(*self._cli.stores.outbox.get(message))}

    def retry_outgoing(self, message: str) -> Json:
        self._cli.stores.outbox.retry(message)
        return self._settled(message)

    def drop_outgoing(self, message: str) -> Json:
        self._cli.stores.outbox.drop(message)
        return self._settled(message)

    def _settled(self, message: str) -> Json:
        return {"ok": True, **entry_json(self._cli.stores.outbox.get(message)[0])}

    def questions(self) -> Json:
        return questions_answer(self._cli)

    def decide(self, question: str, how: str) -> Json:
        return decided_answer(self._answers(), question, how, BY_TERMINAL)

    def answer(self, question: str, text: str) -> Json:
        return answered_answer(self._answers(), question, text, BY_TERMINAL)

    def revoke_approval(self, agent: str, what: str) -> Json:
        return revoked_answer(self._cli, agent, what)

    def _answers(self) -> Answers:
        return answers_of(self._cli.stores, self._cli.waker)

    def pairings(self) -> Json:
        service = pairing_of(self._cli.stores)
        return {"ok": True, **pairing_json(service.admissions(), service.requests(), service.refusals())}

    def approve(self, who: str, *, share_session: bool) -> Json:
        admitted = pairing_of(self._cli.stores).approve(who, share_session=share_session)
        return {"ok": True, **admission_json(admitted)}

    def revoke(self, who: str) -> Json:
        return {"ok": True, "subject": pairing_of(self._cli.stores).revoke(who)}
