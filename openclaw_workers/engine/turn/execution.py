"""Running one turn that this worker owns, up to the outcome that the runner commits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog
from pydantic import ValidationError

from openclaw_workers.agent.context.history import open_calls
from openclaw_workers.agent.loop import AgentLoop
from openclaw_workers.agent.model.asker import Asker
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.turn_setup import TurnPorts
from openclaw_workers.clock import now_ms
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import InboxEntry, read_inbox_entry
from openclaw_workers.engine.llm.call_log import CallLog
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.tree.lineage import root_of
from openclaw_workers.engine.turn import outcomes
from openclaw_workers.engine.turn.heartbeat_outcome import is_beat, of_beat
from openclaw_workers.engine.turn.journal import RedisJournal, persist
from openclaw_workers.engine.turn.lost_model_calls import LostCalls
from openclaw_workers.engine.turn.overrides import shown_in
from openclaw_workers.engine.turn.prepare import Prepared, Preparer
from openclaw_workers.engine.turn.skill_call import Answering, answering
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.worker.state import RunActivity, RunHandle, WorkerState
from openclaw_workers.errors import (
    BadInput,
    BudgetExhausted,
    CorruptRecord,
    LeaseLost,
    NewerRecord,
    ProviderError,
    StoreUnavailable,
    TurnEnded,
    TurnHandedOver,
    TurnParked,
    TurnYielded,
)
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Outcome, Taken, WaitFor
from openclaw_workers.store.turns import Turns

log = structlog.get_logger(__name__)


class ReleaseTurn(Exception):
    """The turn must be released: this worker is leaving, or the turn waits for something."""

    def __init__(self, wait: WaitFor | None = None) -> None:
        super().__init__()
        self.wait = wait


class TurnExecution:
    """Runs turns through the agent loop; many threads use it at once."""

    def __init__(
        self,
        *,
        turns: Turns,
        preparer: Preparer,
        models: Models,
        lost_calls: LostCalls,
        calibration: Calibration,
        reader: Reader,
        process: WorkerState,
        ports_of: Callable[[Taken], TurnPorts],
        transcripts: TranscriptCache,
    ) -> None:
        """`ports_of` gives what the tools of a turn may reach."""
        self._turns = turns
        self._preparer = preparer
        self._models = models
        self._lost_calls = lost_calls
        self._calibration = calibration
        self._reader = reader
        self._process = process
        self._ports_of = ports_of
        self._transcripts = transcripts

    def run(self, taken: Taken, handle: RunHandle) -> Outcome:
        """Run the turn and say how it ended.

        Raises:
            LeaseLost: another worker owns the session now.
            ReleaseTurn: another worker should continue the turn.
        """
        try:
            # Strictly: what `take` could not read did not enter the transcript, and must not be answered.
            bound = [read_inbox_entry(raw, strict=True) for raw in taken.bound]
            focus = None
            # A command is never collected with other messages, so it is alone.
            if bound and bound[0].kind == "command":
                ordered = outcomes.command(bound[0])
                if isinstance(ordered, Outcome):
                    return ordered
                focus = ordered.compact
            prepared = persist(lambda: self._prepare(taken, bound), self._process)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - logged and reported below
            # Committed as an error, not raised: the next owner would fail alike, until all attempts are used up.
            return self._not_prepared(taken, error)
        root = root_of(taken.lease.session, taken.row)
        calls = self._models.call_log(taken.lease.run, taken.lease.session, prepared.agent, root)
        # Everything that the loop writes passes here, fenced by the lease.
        journal = RedisJournal(self._turns, handle, self._process, calls, step=taken.step, receive=prepared.receive)
        try:
            asker = self._asker(taken, handle, prepared.agent, calls, journal)
        except (ProviderError, BadInput) as error:
            return outcomes.failed(error, prepared.history, taken.lease.run)
        loop = AgentLoop(prepared.setup, prepared.history, journal, asker)
        # Now, while the record of the run still names the dead owners.
        self._record_lost_calls(taken, prepared, calls, loop, journal)
        answer = answering(loop, bound, prepared, taken.lease.run)
        outcome = replace(self._loop(loop, handle, answer, focus), worked=loop.worked)
        if taken.row.get("deliver") == "1" or asker.reasoning != "off":
            # The commit shows the last text to the session's own viewers. Its parent's viewers, and those who follow
            # the model's thinking, need the events.
            journal.flush()
        row = {**outcomes.compactions(taken, loop), **outcomes.prompt_fields(taken, prepared)}
        announced = taken.row.get(outcomes.ANNOUNCED_MODEL, "")
        whole = outcomes.complete(outcome, bound, row, asker, announced_model=announced)
        if is_beat(bound):
            return of_beat(whole, taken.row, now_ms(), ack_max_chars=prepared.agent.heartbeat_or_default.ack_max_chars)
        return whole

    def _prepare(self, taken: Taken, bound: list[InboxEntry]) -> Prepared:
        return self._preparer.prepare(taken, bound, self._ports_of(taken))

    def _asker(
        self, taken: Taken, handle: RunHandle, agent: AgentConfig, calls: CallLog, journal: RedisJournal
    ) -> Asker:
        """Who calls the agent's models in this turn.

        Raises:
            ProviderError, BadInput: they cannot be called as configured.
        """
        run, cancel = taken.lease.run, handle.cancel
        chain = self._models.chain(
            agent,
            run,
            calls.tree,
            taken.row,
            cancel,
            authority=taken.authority,
            seconds_left=handle.seconds_left,
            on_skip=calls.note_attempt,
            on_wait=lambda why: journal.show("model.waiting", {"why": why}),
        )
        # From here on the ticker flushes what viewers see and holds on to limits and budgets.
        handle.begin(
            RunActivity(
                unrecorded=calls.unrecorded, show=journal.flush_if_old, renew_reservation=chain.guard.renew_reservation
            )
        )
        reasoning = shown_in(taken.row).reasoning
        return Asker(run, taken.lease.fence, chain, journal, cancel, reasoning, self._calibration)

    def _record_lost_calls(
        self, taken: Taken, prepared: Prepared, calls: CallLog, loop: AgentLoop, journal: RedisJournal
    ) -> None:
        """Record what earlier owners of the run were asking when they died. One that ran a tool was asking nothing."""
        if not taken.dead or open_calls(loop.history):
            return
        lost = persist(
            lambda: self._lost_calls.asked_last(taken.lease, taken.dead, taken.row, prepared.agent), self._process
        )
        for each in lost:
            calls.note_lost(each, loop.next_tokens())
        journal.record_calls()

    def _not_prepared(self, taken: Taken, error: Exception) -> Outcome:
        session = taken.lease.session
        if isinstance(error, ProviderError | BadInput | NewerRecord):  # a wrong setting or name, not a defect of ours
            log.warning("turn.prepare_failed", error=error.message)
        else:
            log.error("turn.prepare_failed", exc_info=error)
        if isinstance(error, ValidationError):
            error = CorruptRecord("a message", "it is not in the form this version writes")
        if isinstance(error, CorruptRecord):
            self._reader.quarantine(f"session {session}: {error.where}", error.why, taken.bound)
        unread = isinstance(error, NewerRecord)
        # A transcript in a newer form cannot be read either.
        history = [] if unread else persist(lambda: self._transcripts.newest(session), self._process)
        return outcomes.failed(error, history, taken.lease.run)

    def _loop(self, loop: AgentLoop, handle: RunHandle, answer: Answering, focus: str | None = None) -> Outcome:
        run = handle.lease.run
        try:
            if focus is not None:
                return outcomes.done(loop.compact(focus), loop)
            return outcomes.answered(answer(), handle.lease.session)
        # Nothing may be written any more, so there is no outcome to commit.
        except LeaseLost:
            raise
        except TurnParked as error:
            waited, message = SessionKey(error.session), MessageId(error.message_id)
            wait = WaitFor(waited, message, error.milliseconds, is_question=error.is_question)
            raise ReleaseTurn(wait) from error
        except TurnYielded as error:
            return outcomes.yielded(error, loop)
        except BudgetExhausted as error:
            return outcomes.over_budget(error, loop, run)
        except (TurnHandedOver, StoreUnavailable) as error:
            # Not an outcome: another worker continues the turn from its journal.
            raise ReleaseTurn from error
        except TurnEnded as error:
            return outcomes.ended(error, loop, run)
        except Exception as error:
            # A failed model call is no defect of ours, and its details are in the outcome.
            if not isinstance(error, ProviderError):
                log.exception("turn.failed")
            return outcomes.failed(error, loop.history, run)
