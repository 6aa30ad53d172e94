"""One turn from wake-up to commit, in a process that may be killed, paused or told to leave at any point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog
from pydantic import ValidationError

from openclaw_workers.agent.context.history import open_calls
from openclaw_workers.agent.loop import AgentLoop
from openclaw_workers.agent.output.silent_replies import is_silent, sendable
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey, new_run_id, new_token
from openclaw_workers.domain.messages import InboxEntry, MessageState
from openclaw_workers.domain.runs import RunState, lane_of
from openclaw_workers.domain.session_key import agent_of, is_subagent
from openclaw_workers.domain.transcript import AssistantEntry
from openclaw_workers.domain.tree import own_batch
from openclaw_workers.engine.hooks import fire, listens
from openclaw_workers.engine.mending import mend
from openclaw_workers.engine.sessions.tool_port import TurnSessions
from openclaw_workers.engine.tree.report import frozen, partial_result
from openclaw_workers.engine.tree.spawn import Spawner
from openclaw_workers.engine.turn import outcomes as endings
from openclaw_workers.engine.turn.journal import RedisJournal, persist
from openclaw_workers.engine.turn.prepare import Preparer
from openclaw_workers.engine.wake import Waker, named, wake_all
from openclaw_workers.engine.worker.state import RunHandle, WorkerState
from openclaw_workers.errors import (
    BadInput,
    BudgetExhausted,
    CorruptRecord,
    LeaseLost,
    ProviderError,
    StoreUnavailable,
    TurnAborted,
    TurnEnded,
    TurnHandedOver,
    TurnParked,
    TurnYielded,
)
from openclaw_workers.logs import run_context
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.llm.lost_calls import Orphan
from openclaw_workers.store.turns import Lease, NotTaken, Outcome, Taken, Turns, WaitFor

log = structlog.get_logger(__name__)


class TurnRunner:
    """Carries turns in one process; its methods are called from many threads at once."""

    def __init__(
        self,
        turns: Turns,
        preparer: Preparer,
        process: WorkerState,
        waker: Waker,
        spawner: Spawner,
        *,
        on_delayed: Callable[[], None],
    ) -> None:
        """`on_delayed` is called when a commit leaves work that is due before the next sweep."""
        self._turns = turns
        self._preparer = preparer
        self._process = process
        self._waker = waker
        self._spawner = spawner
        self._on_delayed = on_delayed

    def run(self, session: SessionKey, run: RunId, *, is_header: bool = False) -> RunState | None:
        """Carry the run as far as it will go here, and say how it ended; None when it did not end by us.

        A child's run has ended when all it spawned has settled too. `is_header` says that its chord will count it
        when this returns; otherwise it is published again for that (rule 4).
        """
        if self._process.draining:
            if not self._process.is_stuck:
                # A stuck process still consumes, and would only fetch it again; the sweep sees to it.
                self._waker.turn(session, run)
            return None
        suspect = self._process.try_suspect(run)
        try:
            try:
                taken = self._take(session, run, suspect)
            except CorruptRecord as error:
                log.error("run.unreadable", error=error.message)
                self._preparer.quarantine(session, error, "")
                self._mend(session)
                return None
            except StoreUnavailable as error:
                log.warning("run.untaken", error=error.message)
                return None
            if isinstance(taken, NotTaken):
                log.debug("run.skipped", why=taken.why)
                if taken.why == "suspect":
                    self._process.defer(session, run)
                elif taken.why == "damaged" and self._mend(session):
                    self._waker.turn(session, run)
                wake_all(self._waker, taken.granted)
                return None
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
        history = self._preparer.history_of(lease.session)
        attempts = self._preparer.max_attempts
        stuck = f"its worker died {'once' if attempts == 1 else f'{attempts} times'} without getting any further"
        error = f"the turn was given up: {stuck if stood_still else f'{losses} workers died while they carried it'}"
        closing = [*endings.close(history, lease.run), endings.notice(error, "error", lease.run)]
        partial = partial_result(history, run=lease.run)
        tokens = sum(getattr(entry, "approx_tokens", 0) for entry in history)
        books = NO_ENTRIES if open_calls(history) else self._preparer.lost(lease, tokens)
        outcome = Outcome(RunState.ERROR, "lost", MessageState.FAILED, error=error, entries=closing, partial=partial)
        self._commit(lease, outcome, books=books)
        log.error("run.given_up", losses=losses, **named(lease.session, lease.run))

    def settle_orphan(self, orphan: Orphan) -> None:
        """Book what a dead owner was asking when its run was taken away; if it only sleeps, it corrects that."""
        dead = Lease(orphan.session, orphan.run, lane_of(orphan.session), f"{orphan.fence}:")
        self._turns.let_go(dead, self._preparer.lost(dead, orphan.tokens, orphan.row))

    def let_go(self, lease: Lease, books: LedgerEntries = NO_ENTRIES) -> None:
        """Say that a run which was taken away leaves nothing behind; if that cannot be written, the sweep guesses."""
        try:
            self._turns.let_go(lease, books)
        except StoreUnavailable as error:
            log.warning("calls.unbooked", count=len(books.calls), error=error.message)

    def _mend(self, session: SessionKey) -> bool:
        return mend(self._spawner.stores.sessions, self._spawner.stores.reader, session)

    def _free_suspect(self, run: RunId) -> None:
        following = self._process.clear_suspect(run)
        if following is not None:
            self._waker.turn(*following)

    def _take(self, session: SessionKey, run: RunId, may_suspect: bool) -> Taken | NotTaken:
        nonce = new_token()
        freshness, time_ms = self._preparer.freshness(session), self._preparer.time_ms(session)
        known = self._preparer.known(session)
        return persist(
            lambda: self._turns.take(
                session,
                run,
                lane_of(session),
                nonce=nonce,
                time_ms=time_ms,
                freshness=freshness,
                may_suspect=may_suspect,
                known=known,
            ),
            self._process,
        )

    def _carry(self, taken: Taken, is_header: bool) -> RunState | None:
        lease = taken.lease
        handle = RunHandle(lease, seconds_left=max(0.0, (taken.deadline_at - taken.now) / 1000))
        if taken.abort:
            handle.cancel.set(TurnAborted(taken.abort))
        # Known only now; what was logged before the run was taken goes without.
        context = run_context(sessionId=taken.row.get("sessionId"), parentRunId=taken.row.get("createdByRunId"))
        with context, self._process.carrying(handle):
            self._tell_plugins(taken)
            try:
                return self._go_through(taken, handle, is_header)
            except LeaseLost as error:
                log.warning("run.fenced", error=error.message)
                self.let_go(lease, handle.books())
            except StoreUnavailable as error:
                # Only when this process must leave while Redis is away: the lease runs out, and another goes on.
                log.warning("run.abandoned", error=error.message)
        return None

    def _tell_plugins(self, taken: Taken) -> None:
        """Another run of a child that was spoken to after it had ended: nobody has told yet that it begins."""
        if taken.how != "taken" or taken.resumed or not is_subagent(taken.lease.session):
            return
        if listens("subagent_spawned"):
            try:
                run = self._spawner.stores.reader.run(taken.lease.run)
            except StoreUnavailable as error:
                log.warning("plugin.untold", error=error.message)
                return
            if run is not None and run.batch == own_batch(run.id):
                fire("subagent_spawned", run)

    def _go_through(self, taken: Taken, handle: RunHandle, is_header: bool) -> RunState | None:
        """Run the turn and write down how it ended, or hand it over.

        Raises:
            LeaseLost: it goes on elsewhere already.
            StoreUnavailable: nothing could be written.
        """
        lease = taken.lease
        try:
            return self._end(taken, self._outcome(taken, handle), is_header, handle.books())
        except _Leaving as leaving:
            self._release(lease, leaving, handle.books())
            return None
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception as error:
            log.exception("turn.uncommitted")
            return self._end_failed(taken, error, is_header, handle.books())

    def _end_failed(self, taken: Taken, error: Exception, is_header: bool, books: LedgerEntries) -> RunState | None:
        """End a turn whose end could not be written, with what can be: another owner would only fail the same way."""
        run = taken.lease.run
        history = persist(lambda: self._preparer.history_of(taken.lease.session), self._process)
        try:
            return self._end(taken, endings.failed(error, history, run), is_header, books)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception:
            log.exception("turn.unstorable")
            return self._end(taken, endings.unstorable(history, run), is_header, replace(books, attempts=()))

    def _end(
        self, taken: Taken, outcome: Outcome, is_header: bool, books: LedgerEntries = NO_ENTRIES
    ) -> RunState | None:
        how = self._commit(taken.lease, outcome, is_header=is_header, books=books)
        log.info("run.ended", state=outcome.state, reason=outcome.reason, attempt=taken.attempt, how=how)
        return outcome.state if how in ("ended", "settled") else None

    def _outcome(self, taken: Taken, handle: RunHandle) -> Outcome:
        """Run the turn and say how it ended.

        Raises:
            LeaseLost: it goes on elsewhere already.
            _Leaving: it should go on elsewhere.
        """
        try:
            # Strictly: what `take` could not read did not enter the transcript, and must not be answered.
            bound = [InboxEntry.model_validate_json(raw, strict=True) for raw in taken.bound]
            focus = None
            if bound and bound[0].kind == "command":
                ordered = endings.command(bound[0])
                if isinstance(ordered, Outcome):
                    return ordered
                focus = ordered.compact
            prepared = persist(
                lambda: self._preparer.prepare(taken, bound, TurnSessions(self._spawner, taken)), self._process
            )
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 (logged and told below)
            return self._unprepared(taken, error)
        accounts = self._preparer.accounts(taken.lease, taken.row, prepared.agent)
        journal = RedisJournal(self._turns, handle, self._process, accounts, step=taken.step)
        try:
            asker = self._preparer.asker(handle, taken, prepared.agent, accounts, journal)
        except (ProviderError, BadInput) as error:
            return endings.failed(error, prepared.history, taken.lease.run)
        loop = AgentLoop(prepared.setup, prepared.history, journal, asker)
        if taken.dead and not open_calls(loop.history):
            asked = persist(
                lambda: self._preparer.asked_last(taken.lease, taken.dead, taken.row, prepared.agent), self._process
            )
            for each in asked:
                accounts.note_lost(each, loop.next_tokens())
            journal.book()
        outcome = replace(self._loop(loop, handle, focus), worked=loop.worked)
        if taken.row.get("deliver") == "1" or asker.reasoning != "off":
            # The commit shows the last words to its own viewers, but not to those of its parent, and no thoughts.
            journal.flush()
        row = {**endings.compactions(taken, loop), **endings.sizes(taken, prepared)}
        return endings.complete(outcome, bound, row, asker)

    def _unprepared(self, taken: Taken, error: Exception) -> Outcome:
        session = taken.lease.session
        if isinstance(error, ProviderError | BadInput):  # someone asked for what there is not; no fault of ours
            log.warning("turn.unprepared", error=error.message)
        else:
            log.error("turn.unprepared", exc_info=error)
        if isinstance(error, ValidationError):
            error = CorruptRecord("a message", "it is not in the form this version writes")
        if isinstance(error, CorruptRecord):
            self._preparer.quarantine(session, error, taken.bound)
        history = persist(lambda: self._preparer.history_of(session), self._process)
        return endings.failed(error, history, taken.lease.run)

    def _loop(self, loop: AgentLoop, handle: RunHandle, focus: str | None = None) -> Outcome:
        run = handle.lease.run
        try:
            if focus is not None:
                return endings.done(loop.compact(focus), loop)
            return self._answer(loop, loop.run(), handle)
        except LeaseLost:
            raise
        except TurnParked as error:
            wait = WaitFor(SessionKey(error.session), MessageId(error.message_id), error.milliseconds)
            raise _Leaving(wait) from error
        except TurnYielded as error:
            return endings.yielded(error, loop)
        except BudgetExhausted as error:
            return endings.over_budget(error, loop, run)
        except (TurnHandedOver, StoreUnavailable) as error:
            raise _Leaving from error
        except TurnEnded as error:
            return endings.ended(error, loop, run)
        except Exception as error:
            if not isinstance(error, ProviderError):
                log.exception("turn.broken")
            return endings.failed(error, loop.history, run)

    def _answer(self, loop: AgentLoop, answer: AssistantEntry, handle: RunHandle) -> Outcome:
        text = sendable(answer.text)
        return Outcome(
            RunState.OK,
            "silent" if is_silent(answer.text) else "length" if answer.stop_reason == "length" else "complete",
            MessageState.ANSWERED,
            text=frozen(text) if is_subagent(handle.lease.session) else text,
            model=f"{answer.provider}/{answer.model}",
            context_tokens=answer.usage.total,
            entries=[answer],
        )

    def _commit(
        self, lease: Lease, outcome: Outcome, *, is_header: bool = False, books: LedgerEntries = NO_ENTRIES
    ) -> str:
        following = new_run_id()
        wake = self._waker.sealed(lease.session, following)
        committed = persist(
            lambda: self._turns.commit(
                lease, agent_of(lease.session), outcome, next_run=following, wake=wake, books=books
            ),
            self._process,
        )
        if committed.next_run is not None and committed.delay_ms == 0 and committed.how != "again":
            self._waker.turn(lease.session, committed.next_run)
        elif committed.next_run is not None or committed.answered or committed.how == "unsettled":
            self._on_delayed()
        if committed.how == "again" or (committed.how == "settled" and not is_header):
            self._preparer.wake_run(self._waker, lease.run)
        wake_all(self._waker, committed.granted)
        return committed.how

    def _release(self, lease: Lease, leaving: _Leaving, books: LedgerEntries) -> None:
        to_wake, granted = persist(lambda: self._turns.release(lease, leaving.wait, books=books), self._process)
        log.info("run.released" if to_wake else "run.parked")
        if to_wake:
            self._waker.turn(lease.session, lease.run)
        wake_all(self._waker, granted)


class _Leaving(Exception):
    """The turn is to be released: this worker is leaving, or the turn waits for something."""

    def __init__(self, wait: WaitFor | None = None) -> None:
        super().__init__()
        self.wait = wait
