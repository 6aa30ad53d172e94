"""Asks the agent's model for a short name of a conversation. The call is in the ledger, under the session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from openclaw_workers.agent.model.asker import Asker, CallNote
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.agent.prompt import texts
from openclaw_workers.cancel import Cancel
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import lane_of
from openclaw_workers.domain.transcript import TextBlock, UserEntry
from openclaw_workers.engine.llm.call_log import CallLog
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.errors import OpenClawError, StoreUnavailable, TurnTimedOut
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.turn_records import Lease

log = structlog.get_logger(__name__)

SECONDS = 15.0
CHARS = 2_000

RecordCalls = Callable[[Lease, LedgerEntries], None]


class _Unseen:
    """Takes the calls for the ledger, and shows nobody anything."""

    def __init__(self, calls: CallLog) -> None:
        self._calls = calls

    def text(self, delta: str) -> None:
        """Nobody reads along."""

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        """Nobody watches."""

    def note(self, call: CallNote) -> None:
        self._calls.note(call)


class SlugModel:
    def __init__(self, models: Models, record: RecordCalls) -> None:
        self._models = models
        self._record = record

    def ask(self, agent: AgentConfig, session: SessionKey, session_id: str, conversation: str) -> str:
        """A few words; "" if no model gives them within 15 seconds."""
        run, cancel = RunId(f"memory-note-{session_id}"), Cancel()
        calls = self._models.call_log(run, session, agent, session)
        is_over = threading.Event()
        threading.Thread(target=_cancel_late, args=(is_over, cancel), daemon=True, name="ocw-slug-limit").start()
        try:
            first = self._models.first(agent)
            if not first.provider.can_summarise:
                return ""
            chain = self._models.chain(agent, run, session, {}, cancel, seconds_left=lambda: SECONDS)
            asker = Asker(run, 0, chain, _Unseen(calls), cancel)
            _, answer = asker.ask(lambda candidate, failed: _request(candidate, conversation), is_side_call=True)
            return "".join(block.text for block in answer.content if isinstance(block, TextBlock))
        except OpenClawError as error:
            log.info("memory.note_not_named", sessionId=session_id, error=error.message)
            return ""
        finally:
            is_over.set()
            self._book(Lease(session, run, lane_of(session), "0:"), calls)

    def _book(self, lease: Lease, calls: CallLog) -> None:
        entries = calls.unrecorded()
        if not entries.calls:
            return
        try:
            self._record(lease, entries)
        except StoreUnavailable as error:
            log.warning("memory.note_not_recorded", error=error.message)


def _cancel_late(is_over: threading.Event, cancel: Cancel) -> None:
    if not is_over.wait(SECONDS):
        cancel.set(TurnTimedOut("naming a conversation took too long"))


def _request(candidate: Candidate, conversation: str) -> ModelRequest:
    asked = texts.NOTE_SLUG.format(conversation=conversation[-CHARS:])
    return ModelRequest(
        model=candidate.model,
        system=texts.NOTE_SLUG_SYSTEM,
        messages=[UserEntry(content=[TextBlock(text=asked)])],
        tools=[],
        endpoint=candidate.endpoint,
    )
