"""Scheduled jobs and heartbeats: list, add, change, run, pause, remove."""

from __future__ import annotations

from typing import Any

from ingress.api.access import maker_of
from ingress.api.models.inputs import LimitQuery
from ingress.api.models.schedules import JobInput, JobPatch
from ingress.api.table import Call, NoInput
from ingress.errors import HttpError
from openclaw_workers.domain.job import JobDraft
from openclaw_workers.engine.client_graph import jobs_of
from openclaw_workers.engine.schedules.service import JobService
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.job_answers import (
    changed_heartbeat,
    fired_answer,
    firings_answer,
    heartbeats_answer,
    job_answer,
    jobs_answer,
    removed_answer,
)


def list_jobs(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return jobs_answer(_jobs(call), lambda agent: _may_see(call, agent))


def get_job(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return job_answer(_jobs(call), _jobs(call).get(_seen(call)))


def list_runs(call: Call[LimitQuery, NoInput]) -> dict[str, Any]:
    return firings_answer(_jobs(call), _seen(call), call.query.limit)


def add_job(call: Call[NoInput, JobInput]) -> dict[str, Any]:
    _check_unbound(call)
    jobs, principal = _jobs(call), call.principal
    draft = JobDraft(**call.body.model_dump(exclude={"id"}))
    added = jobs.add(draft, authority=principal.authority, created_by=maker_of(call), job_id=call.body.id)
    return job_answer(jobs, added)


def change_job(call: Call[NoInput, JobPatch]) -> dict[str, Any]:
    _check_unbound(call)
    jobs = _jobs(call)
    return job_answer(jobs, jobs.change(call.path["id"], call.body.model_dump(exclude_unset=True)))


def remove_job(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return removed_answer(_jobs(call), _seen(call))


def run_job(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return fired_answer(_jobs(call), _seen(call))


def pause_job(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return job_answer(_jobs(call), _jobs(call).pause(_seen(call)))


def resume_job(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return job_answer(_jobs(call), _jobs(call).resume(_seen(call)))


def list_heartbeats(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return heartbeats_answer(_jobs(call), lambda agent: _may_see(call, agent))


def run_heartbeat(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return _change_heartbeat(call, "run")


def pause_heartbeat(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return _change_heartbeat(call, "pause")


def resume_heartbeat(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return _change_heartbeat(call, "resume")


def _change_heartbeat(call: Call[NoInput, NoInput], verb: str) -> dict[str, Any]:
    agent = call.path["agent"]
    if not _may_see(call, agent):
        raise NotFound(f"no heartbeat of {agent}")
    return changed_heartbeat(_jobs(call), agent, verb)


def _jobs(call: Call[Any, Any]) -> JobService:
    return jobs_of(call.context.stores, call.context.waker)


def _may_see(call: Call[Any, Any], agent: str) -> bool:
    return call.principal.agent in (None, agent)


def _seen(call: Call[Any, Any]) -> str:
    """The id of a job, unless its agent is hidden from the token."""
    wanted = call.path["id"]
    if call.principal.agent is not None and not _may_see(call, _jobs(call).get(wanted).job.agent_id):
        raise NotFound(f"no job {wanted}")
    return wanted


def _check_unbound(call: Call[Any, Any]) -> None:
    """What a job does is chosen freely, also its agent and session."""
    if call.principal.agent is not None:
        raise HttpError(403, "a token that is bound to an agent cannot add or change jobs")
