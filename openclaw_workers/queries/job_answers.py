"""Scheduled jobs and heartbeats as JSON answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openclaw_workers.domain.job import HEARTBEAT
from openclaw_workers.engine.schedules.service import JobService
from openclaw_workers.store.schedules import StoredJob
from openclaw_workers.views.jobs import firing_json, heartbeat_json, job_json

REASONS = 5
"""How many results of a heartbeat are shown."""


def jobs_answer(jobs: JobService, may_see: Callable[[str], bool] = lambda agent: True) -> dict[str, Any]:
    """Every job, newest first; `may_see` says of which agents."""
    return {"ok": True, "jobs": [job_json(each) for each in jobs.jobs() if may_see(each.job.agent_id)]}


def job_answer(jobs: JobService, stored: StoredJob) -> dict[str, Any]:
    """One job with its next times."""
    return {"ok": True, **job_json(stored, [] if stored.state.paused else jobs.next_times(stored.job))}


def removed_answer(jobs: JobService, job: str) -> dict[str, Any]:
    jobs.remove(job)
    return {"ok": True, "id": job}


def fired_answer(jobs: JobService, job: str) -> dict[str, Any]:
    return {"ok": True, "id": job, "time": jobs.run(job)}


def firings_answer(jobs: JobService, job: str, limit: int) -> dict[str, Any]:
    """How earlier firings ended, newest first.

    Raises:
        NotFound: there is neither such a job nor a log of one.
    """
    found = [firing_json(each) for each in jobs.log(job, limit)]
    if not found:
        # Raises for an unknown job. One that was removed may still have a log, and one that never fired has none.
        jobs.get(job)
    return {"ok": True, "id": job, "runs": found}


def heartbeats_answer(jobs: JobService, may_see: Callable[[str], bool] = lambda agent: True) -> dict[str, Any]:
    """Which agents beat, when next, and the last results or reasons why not."""
    beats = [each for each in jobs.jobs(with_heartbeats=True) if each.job.is_heartbeat]
    shown = [heartbeat_json(each, jobs.log(each.job.id, REASONS)) for each in beats]
    return {"ok": True, "heartbeats": [each for each in shown if may_see(each["agentId"])]}


def changed_heartbeat(jobs: JobService, agent: str, verb: str) -> dict[str, Any]:
    """Carry out `run`, `pause` or `resume` for an agent's heartbeat.

    Raises:
        NotFound: the agent does not beat.
    """
    acts = {"run": jobs.make_due, "pause": jobs.pause, "resume": jobs.resume}
    stored = acts[verb](f"{HEARTBEAT}{agent}")
    return {"ok": True, **heartbeat_json(stored, jobs.log(stored.job.id, REASONS))}
