"""One turn from wake-up to commit, in a process that may be killed, paused or shut down at any point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog

from openclaw_workers.agent.context.history import open_calls
from openclaw_workers.domain.ids import RunId, SessionKey, new_run_id
from openclaw_workers.domain.runs import RunState, lane_of
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.delivery.chats import ChatDelivery
from openclaw_workers.engine.turn import outcomes
from openclaw_workers.engine.turn.execution import ReleaseTurn, TurnExecution
from openclaw_workers.engine.turn.journal import persist
from openclaw_workers.engine.turn.lost_model_calls import LostCalls
from openclaw_workers.engine.turn.take_at_place import PlacedTurns
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.turn.turn_hooks import TurnHooks
from openclaw_workers.engine.wake import Waker, named, wake_all, wake_run
from openclaw_workers.engine.worker.state import RunHandle, WorkerState
from openclaw_workers.errors import (
    CorruptRecord,
    LeaseLost,
    StoreUnavailable,
    TurnAborted,
)
from openclaw_workers.logs import run_context
from openclaw_workers.metrics import FENCED, TAKEOVERS, TURNS
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.llm.lost_model_calls import LostCallRecord
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Lease, NotTaken, Outcome, Taken
from openclaw_workers.store.turns import Turns

log = structlog.get_logger(__name__)


class TurnRunner:
    """Runs turns in one process; many threads call it at once."""

    def __init__(
        self,
        *,
        turns: Turns,
        placed: PlacedTurns,
        execution: TurnExecution,
        transcripts: TranscriptCache,
        lost_calls: LostCalls,
        reader: Reader,
        process: WorkerState,
        waker: Waker,
        chats: ChatDelivery,
        hooks: TurnHooks,
        max_attempts: int,
        on_delayed: Callable[[], None],
    ) -> None:
        """`on_delayed` is called when a commit leaves work that is due before the next sweep."""
        self._turns = turns
        self._placed = placed
        self._execution = execution
        self._transcripts = transcripts
        self._lost_calls = lost_calls
        self._reader = reader
        self._process = process
        self._waker = waker
        self._chats = chats
        self._hooks = hooks
        self._max_attempts = max_attempts
        self._on_delayed = on_delayed

    def run(self, session: SessionKey, run: RunId, *, is_header: bool = False) -> RunState | None:
        """Run the turn, and say how the run ended; None if it did not end here.

        A child's run has ended when all it spawned has settled too. `is_header` says that its chord will count it
        when this returns; otherwise it is published again for that (rule 4).
        """
        if self._process.shutdown.hands_over:
            if self._process.shutdown.has_begun and not self._process.shutdown.is_stuck:
                # A stuck or drained process may still consume and would fetch the wake-up again, so it is left to the
                # sweep.
                self._waker.turn(session, run)
            return None
        # A process runs one suspect at a time: if it crashes, only that run is to blame (rule 5).
        suspect = self._process.suspects.reserve(run)
        try:
            try:
                taken = self._placed.take(session, run, suspect)
            except CorruptRecord as error:
                log.error("run.unreadable", error=error.message)
                # The run stays due, and the sweep wakes it again. A person has to repair the record first.
                self._reader.quarantine(f"session {session}: {error.where}", error.why, "")
                return None
            except StoreUnavailable as error:
                # This process is leaving. Nothing was taken, so the sweep wakes the run for another worker.
                log.warning("run.take_failed", error=error.message)
                return None
            if isinstance(taken, NotTaken):
                self._leave(session, run, taken)
                return None
            # The place was reserved before anybody knew whether the run is a suspect. Others may need it now.
            if suspect and not taken.suspect:
                self._free_suspect(run)
                suspect = False
            return self._carry(taken, is_header)
        finally:
            if suspect:
                self._free_suspect(run)

    def settle_lost(self, lease: Lease, losses: int, *, stood_still: bool) -> None:
        """End a run whose last attempt was lost; the sweep holds its lease.

        Raises:
            LeaseLost: another sweep was faster.
        """
        history = self._transcripts.newest(lease.session)
        outcome = outcomes.lost(history, lease.run, losses=losses, attempts=self._max_attempts, stood_still=stood_still)
        tokens = sum(getattr(entry, "approx_tokens", 0) for entry in history)
        # With an open tool call the last owner was running a tool, not calling a model (rule 14).
        calls = NO_ENTRIES if open_calls(history) else self._lost_calls.entries(lease, tokens)
        self._commit(lease, outcome, calls=calls)
        TURNS.add(lease.lane, outcome.state, outcome.reason)
        log.error("run.given_up", losses=losses, **named(lease.session, lease.run))

    def settle_lost_call(self, lost: LostCallRecord) -> None:
        """Record the call of a dead owner whose run was taken away. An owner that only slept corrects it."""
        dead = Lease(lost.session, lost.run, lane_of(lost.session), f"{lost.fence}:")
        self._turns.record_last_calls(dead, self._lost_calls.entries(dead, lost.tokens, lost.row, also=[lost.fence]))

    def drop(self, lease: Lease, calls: LedgerEntries = NO_ENTRIES) -> None:
        """Record the last calls of a run that was taken away. If that fails, the sweep records an estimate."""
        try:
            self._turns.record_last_calls(lease, calls)
        except StoreUnavailable as error:
            log.warning("calls.record_failed", count=len(calls.calls), error=error.message)

    def _leave(self, session: SessionKey, run: RunId, taken: NotTaken) -> None:
        """Leave a run that may not be run here or now."""
        log.debug("run.skipped", why=taken.why)
        # All other reasons need nothing: the run is in other hands, over, or due again later.
        match taken.why:
            case "newer":
                hint = "its records are in a form of a newer version; update this host, or let a newer one run it"
                log.warning("run.newer", hint=hint)
            case "suspect":
                # Remembered, so that it need not wait for the sweep when the other suspect has ended.
                self._process.suspects.defer(session, run)
            case "elsewhere":
                self._placed.pass_on(session, run, taken.place)
        wake_all(self._waker, taken.granted)

    def _free_suspect(self, run: RunId) -> None:
        # Through the queue, not here: another process may be free sooner.
        following = self._process.suspects.free(run)
        if following is not None:
            self._waker.turn(*following)

    def _carry(self, taken: Taken, is_header: bool) -> RunState | None:
        lease = taken.lease
        if taken.how == "takeover":
            TAKEOVERS.add(lease.lane)
        handle = RunHandle(lease, seconds_left=max(0.0, (taken.deadline_at - taken.now) / 1000))
        if taken.abort:
            # Set before the turn starts, so that it ends without calling a model.
            handle.cancel.set(TurnAborted(taken.abort))
        # Known only now: lines logged before the run was taken lack these fields.
        context = run_context(sessionId=taken.row.get("sessionId"), parentRunId=taken.row.get("createdByRunId"))
        with context, self._process.carrying(handle):
            self._hooks.begun(taken)
            try:
                return self._run_to_end(taken, handle, is_header)
            except LeaseLost as error:
                FENCED.add(lease.lane)
                log.warning("run.fenced", error=error.message)
                self.drop(lease, handle.activity.unrecorded())
            except StoreUnavailable as error:
                # This process must leave while Redis is away. The lease expires, and another worker continues the turn.
                log.warning("run.abandoned", error=error.message)
        return None

    def _run_to_end(self, taken: Taken, handle: RunHandle, is_header: bool) -> RunState | None:
        """Run the turn and commit its outcome, or hand it over.

        Raises:
            LeaseLost: another worker owns the session now.
            StoreUnavailable: nothing could be written.
        """
        lease = taken.lease
        try:
            return self._end(taken, self._execution.run(taken, handle), is_header, handle.activity.unrecorded())
        except ReleaseTurn as release:
            self._release(lease, release, handle.activity.unrecorded())
            return None
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception as error:
            log.exception("turn.commit_failed")
            return self._end_failed(taken, error, is_header, handle.activity.unrecorded())

    def _end_failed(self, taken: Taken, error: Exception, is_header: bool, calls: LedgerEntries) -> RunState | None:
        """End a turn whose outcome could not be stored, with an error. Another owner would fail the same way."""
        run = taken.lease.run
        history = persist(lambda: self._transcripts.newest(taken.lease.session), self._process)
        try:
            return self._end(taken, outcomes.failed(error, history, run), is_header, calls)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception:
            # Even the error could not be stored, so its text is left out as well.
            log.exception("turn.outcome_rejected")
            return self._end(taken, outcomes.unstorable(history, run), is_header, replace(calls, attempts=()))

    def _end(
        self, taken: Taken, outcome: Outcome, is_header: bool, calls: LedgerEntries = NO_ENTRIES
    ) -> RunState | None:
        how = self._commit(taken.lease, outcome, is_header=is_header, calls=calls)
        TURNS.add(taken.lease.lane, outcome.state, outcome.reason)
        log.info("run.ended", state=outcome.state, reason=outcome.reason, attempt=taken.attempt, how=how)
        # After the commit: a plugin may act only on what is stored.
        self._hooks.ended(taken, outcome)
        return outcome.state if how in ("ended", "settled") else None

    def _commit(
        self, lease: Lease, outcome: Outcome, *, is_header: bool = False, calls: LedgerEntries = NO_ENTRIES
    ) -> str:
        # Prepared before the commit, which decides whether messages wait and need this run.
        following = new_run_id()
        wake = self._waker.wake_text(lease.session, following)
        # Made once, outside of `persist`: a repeat must send the script the same texts (rule 13).
        delivery = self._chats.of_turn(lease.session, lease.run, outcome)
        committed = persist(
            lambda: self._turns.commit(
                lease,
                agent_of(lease.session),
                outcome,
                next_run=following,
                wake=wake,
                calls=calls,
                delivery=delivery,
            ),
            self._process,
        )
        if committed.next_run is not None and committed.delay_ms == 0 and committed.how != "again":
            self._waker.turn(lease.session, committed.next_run)
        elif committed.next_run is not None or committed.answered or committed.how == "unsettled":
            # The next sweep may come too late for a debounce, a waiting session or an announce.
            self._on_delayed()
        if committed.how == "again" or (committed.how == "settled" and not is_header):
            # A child's run is published again as a part of its chord, which then counts it.
            record = self._reader.run(lease.run)
            if record is not None:
                wake_run(self._waker, record)
        wake_all(self._waker, committed.granted)
        return committed.how

    def _release(self, lease: Lease, release: ReleaseTurn, calls: LedgerEntries) -> None:
        to_wake, granted = persist(lambda: self._turns.release(lease, release.wait, calls=calls), self._process)
        log.info("run.released" if to_wake else "run.parked")
        if to_wake:
            self._waker.turn(lease.session, lease.run)
        wake_all(self._waker, granted)
