"""The jobs that the configuration declares, and heartbeats, which are jobs too."""

from __future__ import annotations

import time
from zlib import crc32

from openclaw_workers.config.resolve import resolve_agent, resolve_agent_id
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.job import HEARTBEAT, Job, make_job
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.schedule import Every, Schedule
from openclaw_workers.engine.schedules.heartbeat import Heartbeats
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.schedules import Schedules

EVERY_SECONDS = 60.0
MOST_LOOKED_AT = 10_000
OWN = {"authority": Authority.OWNER, "created_by": "configuration", "declared": True}


class DeclaredJobs:
    """Keeps the stored jobs as the configuration has them. Every worker does; those that agree change nothing."""

    def __init__(self, store: Schedules, due: DueItems, beats: Heartbeats, settings: Settings) -> None:
        self._store = store
        self._due = due
        self._beats = beats
        self._settings = settings
        self._next = 0.0
        self._known: dict[str, Job] | None = None

    def sync_now_and_then(self) -> None:
        """Called at the start of each sweep. A HEARTBEAT.md that was written is noticed within a minute."""
        if time.monotonic() < self._next or not self._settings.cron.enabled:
            return
        self.sync()
        # Only after a success: a sync that failed is repeated with the next sweep.
        self._next = time.monotonic() + EVERY_SECONDS

    def sync(self) -> None:
        wanted = {job.id: job for job in [*self._jobs(), *self._heartbeats()]}
        if wanted == self._known:
            return
        now = self._due.now_ms()
        for job in wanted.values():
            self._store.declare(job, job.schedule.after(now))
        if self._known is None:
            stored = [each.job for each in self._store.jobs(MOST_LOOKED_AT) if each.job.declared]
            # A HEARTBEAT.md may lie where only another worker sees it: that worker removes the job, not we.
            known = {job.id for job in stored if not self._beats.may_beat_elsewhere(job)}
        else:
            known = set(self._known)
        for job_id in known - wanted.keys():
            self._store.remove(job_id)
        self._known = wanted

    def _jobs(self) -> list[Job]:
        found = []
        for job_id, draft in self._settings.cron.jobs.items():
            agent = resolve_agent_id(self._settings, explicit=draft.agent_id or None)
            schedule: Schedule = draft.schedule(0, resolve_agent(self._settings, agent).user_timezone)
            if isinstance(schedule, Every) and not draft.anchor:
                schedule = _spread(job_id, schedule.every)
            fields = draft.model_dump(exclude={"at", "every", "anchor", "cron", "tz"})
            target = draft.session_target or ("main" if draft.system_event else "isolated")
            own = {"id": job_id, "agent_id": agent, "schedule": schedule, "session_target": target}
            found.append(make_job({**fields, **own, **OWN}))
        return found

    def _heartbeats(self) -> list[Job]:
        return [
            make_job(
                {
                    "id": f"{HEARTBEAT}{agent}",
                    "name": f"heartbeat of {agent}",
                    "agent_id": agent,
                    "schedule": _spread(agent, every),
                    "session_target": "main",
                    "message": "heartbeat",
                    # A beat that was missed has nothing to say later.
                    "misfire": "skip",
                    **OWN,
                }
            )
            for agent in self._beats.beating()
            if (every := self._milliseconds_between_beats(agent)) >= 1_000
        ]

    def _milliseconds_between_beats(self, agent: str) -> int:
        return int(resolve_agent(self._settings, agent).heartbeat_or_default.every.total_seconds() * 1000)


def _spread(name: str, every: int) -> Every:
    """An interval that counts from the same moment on every worker, and from another one for each name."""
    return Every(every=every, anchor=crc32(name.encode()) * 1000 % every)
