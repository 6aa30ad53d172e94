"""One turn from wake-up to commit, in a process that may be killed, paused or told to leave at any point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import structlog
from pydantic import ValidationError

from openclaw_workers.agent.history import open_calls, result_for
from openclaw_workers.agent.loop import AgentLoop, now_ms
from openclaw_workers.engine.commands import parse_command
from openclaw_workers.engine.journal import RedisJournal, persist
from openclaw_workers.engine.preparing import Prepared, Preparer
from openclaw_workers.engine.process import Process, RunHandle
from openclaw_workers.engine.wake import Waker, lane_of, wake_all
from openclaw_workers.errors import (
    CorruptRecord,
    LeaseLost,
    OpenClawError,
    ProviderError,
    StoreUnavailable,
    TurnAborted,
    TurnEnded,
    TurnHandedOver,
    TurnTimedOut,
)
from openclaw_workers.models.ids import RunId, SessionKey, new_run_id
from openclaw_workers.models.messages import InboxEntry, MessageState
from openclaw_workers.models.runs import RunState
from openclaw_workers.models.session_key import agent_of
from openclaw_workers.models.transcript import AssistantEntry, NoticeEntry, TextBlock, TranscriptEntry, Usage
from openclaw_workers.store.turns import Lease, NotTaken, Outcome, Taken, Turns

log = structlog.get_logger(__name__)

NOT_RUN = "[not run: the turn was stopped before this call finished]"
PARTIAL_CHARS = 100_000


class TurnRunner:
    """Carries turns in one process; its methods are called from many threads at once."""

    def __init__(
        self,
        turns: Turns,
        preparer: Preparer,
        process: Process,
        waker: Waker,
        *,
        on_delayed: Callable[[], None] = lambda: None,
    ) -> None:
        self._turns = turns
        self._preparer = preparer
        self._process = process
        self._waker = waker
        self.on_delayed = on_delayed
        """Called when a commit leaves work that is due before the next sweep."""

    def run(self, session: SessionKey, run: RunId) -> RunState | None:
        """Carry the run as far as it will go here, and say how it ended; None when it did not end by us."""
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
                return None
            except StoreUnavailable as error:
                log.warning("run.untaken", error=error.message)
                return None
            if isinstance(taken, NotTaken):
                log.debug("run.skipped", why=taken.why)
                if taken.why == "suspect":
                    self._process.defer(session, run)
                return None
            if suspect and not taken.suspect:
                self._free_suspect(run)
                suspect = False
            return self._carry(taken)
        finally:
            if suspect:
                self._free_suspect(run)

    def settle_lost(self, lease: Lease) -> None:
        """End a run whose last attempt was lost; the sweep holds its lease.

        Raises:
            LeaseLost: another sweep was faster.
        """
        history = self._preparer.history_of(lease.session)
        attempts = self._preparer.max_attempts
        error = f"the turn was given up: its worker died {attempts} times without getting any further"
        closing = [*_close(history, lease.run), _notice(error, "error", lease.run)]
        self._commit(lease, Outcome(RunState.ERROR, "lost", MessageState.FAILED, error=error, entries=closing))
        log.error("run.given_up", run_id=lease.run, session_key=lease.session, attempts=attempts)

    def _free_suspect(self, run: RunId) -> None:
        following = self._process.clear_suspect(run)
        if following is not None:
            self._waker.turn(*following)

    def _take(self, session: SessionKey, run: RunId, may_suspect: bool) -> Taken | NotTaken:
        nonce = self._turns.new_nonce()
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

    def _carry(self, taken: Taken) -> RunState | None:
        lease = taken.lease
        handle = RunHandle(lease, seconds_left=max(0.0, (taken.deadline_at - taken.now) / 1000))
        if taken.abort:
            handle.cancel.set(TurnAborted(taken.abort))
        with self._process.carrying(handle):
            try:
                return self._end(taken, self._outcome(taken, handle))
            except _Leaving as leaving:
                self._release(lease, leaving.usage)
            except LeaseLost as error:
                log.warning("run.fenced", error=error.message)
            except StoreUnavailable as error:
                # Only when this process must leave while Redis is away: the lease runs out, and another goes on.
                log.warning("run.abandoned", error=error.message)
            except Exception as error:
                log.exception("turn.uncommitted")
                history = persist(lambda: self._preparer.history_of(lease.session), self._process)
                return self._end(taken, _failed(error, history, lease.run, Usage()))
        return None

    def _end(self, taken: Taken, outcome: Outcome) -> RunState:
        self._commit(taken.lease, outcome)
        log.info("run.ended", state=outcome.state, reason=outcome.reason, attempt=taken.attempt)
        return outcome.state

    def _outcome(self, taken: Taken, handle: RunHandle) -> Outcome:
        """Run the turn and say how it ended.

        Raises:
            LeaseLost: it goes on elsewhere already.
            _Leaving: it should go on elsewhere.
        """
        try:
            bound = [InboxEntry.model_validate_json(raw) for raw in taken.bound]
            if bound and bound[0].kind == "command":
                return _command(bound[0])
            prepared = persist(lambda: self._preparer.prepare(taken, bound), self._process)
        except StoreUnavailable:
            raise
        except Exception as error:
            log.exception("turn.unprepared")
            return self._unprepared(taken, error)
        journal = RedisJournal(self._turns, handle, self._process, step=taken.step)
        try:
            loop = AgentLoop(prepared.setup, prepared.history, journal, handle.cancel)
        except ProviderError as error:
            return _failed(error, prepared.history, taken.lease.run, Usage())
        return self._loop(loop, prepared, handle)

    def _unprepared(self, taken: Taken, error: Exception) -> Outcome:
        session = taken.lease.session
        if isinstance(error, ValidationError):
            error = CorruptRecord("a message", "it is not in the form this version writes")
        if isinstance(error, CorruptRecord):
            self._preparer.quarantine(session, error, taken.bound)
        history = persist(lambda: self._preparer.history_of(session), self._process)
        return _failed(error, history, taken.lease.run, Usage())

    def _loop(self, loop: AgentLoop, prepared: Prepared, handle: RunHandle) -> Outcome:
        run = handle.lease.run
        try:
            answer = loop.run()
        except LeaseLost:
            raise
        except (TurnHandedOver, StoreUnavailable) as error:
            raise _Leaving(loop.unrecorded) from error
        except TurnEnded as error:
            return _ended(error, loop, run)
        except ProviderError as error:
            return _failed(error, loop.history, run, loop.unrecorded)
        except Exception as error:
            log.exception("turn.broken")
            return _failed(error, loop.history, run, loop.unrecorded)
        return Outcome(
            RunState.OK,
            "complete",
            MessageState.ANSWERED,
            text=answer.text,
            model=prepared.model_name,
            usage=loop.unrecorded.plus(answer.usage),
            context_tokens=answer.usage.input + answer.usage.output,
            entries=[answer],
        )

    def _commit(self, lease: Lease, outcome: Outcome) -> None:
        following = new_run_id()
        wake = self._waker.sealed(lease.session, following)
        committed = persist(
            lambda: self._turns.commit(lease, agent_of(lease.session), outcome, next_run=following, wake=wake),
            self._process,
        )
        if committed.next_run is not None and committed.delay_ms == 0:
            self._waker.turn(lease.session, committed.next_run)
        elif committed.next_run is not None:
            self.on_delayed()
        wake_all(self._waker, committed.granted)

    def _release(self, lease: Lease, usage: Usage) -> None:
        try:
            granted = persist(lambda: self._turns.release(lease, usage), self._process)
        except LeaseLost as error:
            log.warning("run.fenced", error=error.message)
            return
        log.info("run.released")
        self._waker.turn(lease.session, lease.run)
        wake_all(self._waker, granted)


class _Leaving(Exception):
    """This worker is leaving; the turn is to be released with these tokens spent."""

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self.usage = usage


def _command(entry: InboxEntry) -> Outcome:
    parsed = parse_command(entry.text)
    if parsed is None or parsed.command.in_order is None:
        error = f"{entry.text.split()[0]} is not a command this version knows"
        return Outcome(RunState.ERROR, "error", MessageState.FAILED, error=error)
    done = parsed.command.in_order(parsed.argument)
    return Outcome(RunState.OK, "complete", MessageState.ANSWERED, text=done.text, reset=done.reset, row=done.row)


def _ended(error: TurnEnded, loop: AgentLoop, run: RunId) -> Outcome:
    """A turn that was stopped or timed out: what the model had said so far is kept, open calls are closed."""
    timed_out = isinstance(error, TurnTimedOut)
    closing = _close(loop.history, run)
    if loop.partial:
        said = [TextBlock(text=loop.partial[:PARTIAL_CHARS])]
        closing.append(AssistantEntry(content=[*said], timestamp=now_ms(), run_id=run, stop_reason="aborted"))
    told = error.message if timed_out else f"the turn was stopped ({error.message})"
    closing.append(_notice(told, "warning", run))
    return Outcome(
        RunState.TIMEOUT if timed_out else RunState.KILLED,
        "timeout" if timed_out else error.message,
        MessageState.FAILED if timed_out else MessageState.CANCELLED,
        text=loop.partial[:PARTIAL_CHARS],
        error=told,
        usage=loop.unrecorded,
        entries=closing,
    )


def _failed(error: Exception, history: list[TranscriptEntry], run: RunId, usage: Usage) -> Outcome:
    if isinstance(error, ProviderError):
        told, reason = f"the model call failed ({error.reason}): {error.message}", str(error.reason)
    elif isinstance(error, OpenClawError):
        told, reason = error.message, "error"
    else:
        told, reason = f"the turn failed unexpectedly: {type(error).__name__}: {error}", "error"
    hint = f" ({error.hint})" if isinstance(error, OpenClawError) and error.hint else ""
    closing = [*_close(history, run), _notice(told, "error", run)]
    return Outcome(RunState.ERROR, reason, MessageState.FAILED, error=told + hint, usage=usage, entries=closing)


def _close(history: list[TranscriptEntry], run: RunId) -> list[TranscriptEntry]:
    """Results for calls that will never have any, so that the transcript stays a valid sequence (I2)."""
    closing: list[TranscriptEntry] = []
    for call in open_calls(history):
        result = result_for(call, NOT_RUN, is_error=True)
        result.run_id, result.timestamp = run, now_ms()
        closing.append(result)
    return closing


def _notice(text: str, level: Literal["warning", "error"], run: RunId) -> NoticeEntry:
    return NoticeEntry(text=text, level=level, timestamp=now_ms(), run_id=run)
