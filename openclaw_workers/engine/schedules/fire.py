"""A job whose time has come: one message enters its session for each time, whoever claims it and however often."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.base import format_duration
from openclaw_workers.domain.accepted import Rejected
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.job import HEARTBEAT, PROVENANCE, Job, firing_id
from openclaw_workers.domain.messages import Authority, InboundMessage
from openclaw_workers.domain.misfire import Plan, plan
from openclaw_workers.domain.schedule import At
from openclaw_workers.engine.delivery.notice_texts import JOB_MISSED, JOB_STOPPED
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.intake.system_events import SystemEvents
from openclaw_workers.engine.schedules.delivery import JobDelivery
from openclaw_workers.engine.schedules.job_creators import JobCreators
from openclaw_workers.engine.schedules.targets import INTERNAL, Targets
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.logger import get_logger
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.inbox import JobFiring
from openclaw_workers.store.keys import JOB
from openclaw_workers.store.schedules import Schedules, StoredJob

log = get_logger(__name__)

FIRED_AT_ONCE = 100
OFF_MS = 60_000
QUEUED_MS = 2_000
ELSEWHERE_MS = 1_000
BUSY = "requests-in-flight"
BUSY_MS = 15_000
"""When a heartbeat is tried again that found its session busy."""
KEPT_MS = 30 * 86_400_000
"""How long a job is kept that failed or was missed and has no further time."""
WITHDRAWN = "its maker is no longer an owner"


class Beats(Protocol):
    """Builds the turn of a heartbeat."""

    def message(self, job: Job, time: int) -> InboundMessage | str | None:
        """The message; or why there is none this time; None if there is nothing to say about it either."""


class Firing:
    """Puts a time of a job into its session."""

    def __init__(self, store: Schedules, intake: Intake, events: SystemEvents, targets: Targets) -> None:
        self._store = store
        self._intake = intake
        self._events = events
        self._targets = targets

    def fire(self, job: Job, firing: JobFiring) -> bool:
        """Fire one time of a job; a repeat changes nothing. False if its session has a full inbox: try again later.

        Raises:
            NotFound, BadInput: its agent or session cannot be.
            StoreFull, StoreUnavailable: not fired, as far as we know; repeating is safe.
        """
        session = self._targets.session(job, firing.time)
        if job.system_event:
            self._tell(job, firing, session)
            return True
        return self.post(job, firing, self._message(job, firing.time, session))

    def session(self, job: Job, time: int) -> SessionKey:
        """The session of a firing; raises NotFound and BadInput."""
        return self._targets.session(job, time)

    def post(self, job: Job, firing: JobFiring, message: InboundMessage) -> bool:
        """As `fire`, with a message that was made elsewhere."""
        posted = self._intake.post(message, firing=firing)
        # The time stays due, so it is tried again when there is room.
        if isinstance(posted, Rejected) and posted.reason == "busy":
            return False
        if isinstance(posted, Rejected):
            why = f"the session takes no message ({posted.reason})"
            self._store.settle(job.id, firing.time, state="error", reason=why, session=message.session_key)
        return True

    def _tell(self, job: Job, firing: JobFiring, session: SessionKey) -> None:
        self._events.add(
            session,
            source=f"cron {job.name or job.id}",
            text=job.system_event,
            key=firing_id(job.id, firing.time),
            wake=job.wake_mode == "now",
            is_trusted=job.authority.covers(Authority.OWNER),
            authority=job.authority,
        )
        # A manual firing does not use up the time that the schedule waits for.
        if firing.is_manual:
            return
        self._store.skip(job.id, firing.time, firing.following, state="ok", session=session)
        if firing.following is None and job.removes_itself:
            self._store.remove(job.id)

    def _message(self, job: Job, time: int, session: SessionKey) -> InboundMessage:
        due = datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        text = texts.SCHEDULED_TURN.format(name=job.name or job.id, time=due, message=job.message)
        # An isolated turn may delegate: its answer is delivered when its tree has settled.
        is_later = job.is_isolated or job.delivery == "webhook"
        route = INTERNAL if is_later else self._targets.route(job, session)
        return InboundMessage(
            id=firing_id(job.id, time),
            session_key=session,
            text=text,
            route=route,
            sender=f"cron {job.name or job.id}",
            authority=job.authority,
            kind="internal",
            model=job.model or None,
            thinking=job.thinking,
            timeout_seconds=job.timeout_seconds,
            metadata={"provenance": PROVENANCE, "firing": f"{job.id} {time}", **terms(job)},
        )


def terms(job: Job) -> dict[str, str]:
    """What is different in a job's turn, as metadata of its message."""
    found = {"toolsAllow": ",".join(job.tools_allow)} if job.tools_allow else {}
    if job.fallbacks is not None:
        found["fallbacks"] = ",".join(job.fallbacks)
    return {**found, "lightContext": "none"} if job.light_context else found


class DueJobs:
    """Handles due jobs; one row of the sweeper's table."""

    def __init__(
        self,
        *,
        store: Schedules,
        due: DueItems,
        firing: Firing,
        beats: Beats,
        creators: JobCreators,
        delivery: JobDelivery,
        is_enabled: bool,
        is_elsewhere: Callable[[str], bool],
    ) -> None:
        """`is_elsewhere` says of an agent that this host does not see its files."""
        self._store = store
        self._due = due
        self._firing = firing
        self._beats = beats
        self._creators = creators
        self._delivery = delivery
        self._is_enabled = is_enabled
        self._is_elsewhere = is_elsewhere

    def handle(self, job_id: str) -> None:
        item = f"{JOB}{job_id}"
        if not self._is_enabled:
            # Not removed: when somebody switches jobs on again, it must still be there.
            self._due.later(item, OFF_MS)
            return
        if job_id.startswith(HEARTBEAT) and self._is_elsewhere(job_id.removeprefix(HEARTBEAT)):
            self._due.later(item, ELSEWHERE_MS)  # a worker that sees HEARTBEAT.md decides
            return
        # Bounded: a job that missed thousands of times must not keep the sweep from the others.
        for number in range(FIRED_AT_ONCE):
            stored, now = self._store.look(job_id)
            if stored is None or stored.state.paused or stored.state.next_at is None:
                if number == 0:  # otherwise the script that took its last time has said when to look again
                    self._retire(job_id, stored, now)
                return
            if stored.state.next_at > now:
                return
            if not self._step(stored, stored.state.next_at, now):
                return

    def _step(self, stored: StoredJob, due: int, now: int) -> bool:
        """Fire or pass over the time that a job waits for; False if there is nothing to do until it is due again."""
        job = stored.job
        found = plan(job.schedule, due, now, job.misfire, job.window_ms)
        if found.fire != due:
            reason = f"missed by {(now - due) // 1000:,} s"
            self._store.skip(job.id, due, _next(found), state="missed", reason=reason)
            if _next(found) is None and job.removes_itself:
                self._miss(job, due, now)
            return True
        # Firings in a session that exists queue up in its inbox. Isolated ones have a session each, so they wait here.
        if stored.at_work and job.overlap == "queue" and job.is_isolated:
            self._due.later(f"{JOB}{job.id}", QUEUED_MS)
            return False
        if stored.at_work and job.overlap == "skip":
            self._store.skip(job.id, due, found.following, state="skipped", reason="the run before is still at work")
            return True
        try:
            # Asked at each time, not when the job was made: owners change.
            if not self._creators.may(job):
                self._stop(job, due, found.following)
                return False
            is_taken = self._fire(stored, JobFiring(job.id, due, found.following), now)
            # Without a further time that is due, the script has said when to look again.
            return is_taken and found.following is not None and found.following <= now
        except (BadInput, NotFound) as error:
            log.warning("job.not_fired", job=job.id, error=error.message)
            self._store.skip(job.id, due, found.following, state="skipped", reason=error.message)
        return True

    def _retire(self, job_id: str, stored: StoredJob | None, now: int) -> None:
        """Remove a job that has no further time for long; one that is paused, or gone, is not looked at again."""
        if stored is not None and _is_over(stored, now):
            self._store.remove(job_id)
        self._due.done(f"{JOB}{job_id}")

    def _miss(self, job: Job, due: int, now: int) -> None:
        """A job that would have removed itself has missed its only time, and says so."""
        said = JOB_MISSED.format(name=job.name or job.id, late=format_duration(timedelta(seconds=(now - due) // 1000)))
        # Before the job is removed: a crash in between repeats both, and the id makes the notice one.
        self._delivery.say(job, f"out-cron-{job.id}-{due}-missed", said, self._firing.session(job, due))
        self._store.remove(job.id)

    def _stop(self, job: Job, due: int, following: int | None) -> None:
        """The maker is no longer an owner. An owner who resumes the job takes it over."""
        log.warning("job.stopped", job=job.id, maker=job.maker)
        self._store.skip(job.id, due, following, state="skipped", reason=WITHDRAWN)
        self._store.pause(job.id, WITHDRAWN)
        said = JOB_STOPPED.format(name=job.name or job.id, id=job.id)
        self._delivery.say(job, f"out-cron-{job.id}-{due}-stopped", said, self._firing.session(job, due))

    def _fire(self, stored: StoredJob, firing: JobFiring, now: int) -> bool:
        job = stored.job
        if not job.is_heartbeat:
            return self._firing.fire(job, firing)
        message = self._beats.message(job, firing.time)
        if isinstance(message, InboundMessage):
            return self._firing.post(job, firing, message)
        following, reason = firing.following, message or ""
        if reason == BUSY:
            # Tried again soon, not only at the next beat, which may be half an hour away.
            following = min(now + BUSY_MS, following or now + BUSY_MS)
        # A session that is busy for long fills the run log with one line, not with one for each try.
        again = reason == BUSY and (stored.state.last_state, stored.state.last_error) == ("skipped", BUSY)
        self._store.skip(job.id, firing.time, following, state="skipped" if reason and not again else "", reason=reason)
        return True


def _is_over(stored: StoredJob, now: int) -> bool:
    """Whether a job had one time, which is long past, and nobody has removed or resumed it since."""
    schedule = stored.job.schedule
    return isinstance(schedule, At) and not stored.job.declared and now - schedule.at > KEPT_MS


def _next(found: Plan) -> int | None:
    return found.following if found.fire is None else found.fire
