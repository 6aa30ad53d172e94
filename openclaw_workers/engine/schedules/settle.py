"""A firing that may have ended: its answer is delivered, and its job learns how it went."""

from __future__ import annotations

import structlog

from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.job import TRANSIENT, Firing, Job
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.engine.delivery.notice_texts import JOB_FAILED, JOB_PAUSED
from openclaw_workers.engine.schedules.delivery import JobDelivery
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.keys import CLEANUP, FIRING
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.schedules import Schedules
from openclaw_workers.store.sessions import Sessions
from openclaw_workers.store.tree import Tree

log = structlog.get_logger(__name__)

LOOK_MS = 15_000
TREE_MS = 2_000
OPEN = (MessageState.ACCEPTED, MessageState.BOUND)


class DueFirings:
    """Handles firings that are at work; one row of the sweeper's table."""

    def __init__(
        self,
        *,
        store: Schedules,
        due: DueItems,
        inbox: Inbox,
        reader: Reader,
        sessions: Sessions,
        tree: Tree,
        delivery: JobDelivery,
        retention_ms: int,
    ) -> None:
        self._store = store
        self._due = due
        self._inbox = inbox
        self._reader = reader
        self._sessions = sessions
        self._tree = tree
        self._delivery = delivery
        self._retention_ms = retention_ms

    def handle(self, name: str) -> None:
        job_id, _, time = name.rpartition(" ")
        firing = self._store.firing(job_id, int(time))
        if firing is None:
            self._due.done(f"{FIRING}{name}")
            return
        session = SessionKey(firing.session)
        stored = self._store.get(job_id)
        receipt = self._inbox.receipt(session, MessageId(firing.message))
        if receipt is not None and receipt.state in OPEN:
            self._due.later(f"{FIRING}{name}", LOOK_MS)
            return
        run = self._reader.run(receipt.run) if receipt is not None and receipt.run else None
        if stored is not None and stored.job.is_isolated:
            state = self._reader.control(session)
            if state.state != "idle" or any(map(self._tree.batch, self._tree.batches(session))):
                self._due.later(f"{FIRING}{name}", TREE_MS)
                return
            # An isolated turn may delegate. Its last run, not its first, has the answer.
            run = self._reader.run(RunId(state.run)) or run
        self._end(stored.job if stored else None, job_id, int(time), firing, run)

    def _end(self, job: Job | None, job_id: str, time: int, firing: Firing, run: Run | None) -> None:
        is_ok = run is not None and run.state is RunState.OK
        reason = "" if is_ok else (run.error or str(run.reason or run.state)) if run else "its message was cancelled"
        session, run_id = SessionKey(firing.session), run.id if run else ""
        if job is not None and job.delivery == "webhook":
            self._delivery.report(job, time, session, run, reason)
        elif job is not None and job.is_isolated:
            text = (run.text or "") if run and is_ok else JOB_FAILED.format(name=job.name or job.id, error=reason)
            self._delivery.say(job, f"out-cron-{job_id}-{time}", text, session, run_id)
        if job is not None and job.is_isolated:
            self._retire_later(session)
        # After the delivery: a crash in between repeats it, and the message's id makes it one.
        became = self._store.settle(
            job_id,
            time,
            state="ok" if is_ok else "error",
            reason=reason,
            run=run_id,
            session=firing.session,
            removes=job is not None and job.removes_itself,
            is_transient=run is not None and (run.reason or "") in TRANSIENT,
        )
        if became == "paused" and job is not None:
            log.warning("job.paused", job=job_id, error=reason)
            said = JOB_PAUSED.format(name=job.name or job.id, id=job.id, error=reason)
            self._delivery.say(job, f"out-cron-{job_id}-{time}-paused", said, session, run_id)

    def _retire_later(self, session: SessionKey) -> None:
        """The session of an isolated run is removed some time after its last use."""
        if self._sessions.patch(session, {"archiveAfterMs": str(self._retention_ms)}):
            self._due.add(f"{CLEANUP}{session}", self._retention_ms)
