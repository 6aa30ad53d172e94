"""What agents do by themselves and know: scheduled jobs, heartbeats, memory."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json, Progress
from openclaw_workers.domain.job import JobDraft
from openclaw_workers.domain.messages import Authority
from openclaw_workers.engine.client_graph import jobs_of
from openclaw_workers.engine.schedules.service import JobService
from openclaw_workers.queries import job_answers, memory_answers


class LocalAgents(LocalPart):
    @cached_property
    def _jobs(self) -> JobService:
        return jobs_of(self._cli.stores, self._cli.waker)

    def jobs(self) -> Json:
        return job_answers.jobs_answer(self._jobs)

    def add_job(self, fields: dict[str, Any], job: str) -> Json:
        added = self._jobs.add(JobDraft(**fields), authority=Authority.OWNER, created_by="cli", job_id=job)
        return job_answers.job_answer(self._jobs, added)

    def change_job(self, job: str, fields: dict[str, Any]) -> Json:
        return job_answers.job_answer(self._jobs, self._jobs.change(job, fields))

    def remove_job(self, job: str) -> Json:
        return job_answers.removed_answer(self._jobs, job)

    def run_job(self, job: str) -> Json:
        return job_answers.fired_answer(self._jobs, job)

    def job_runs(self, job: str, limit: int) -> Json:
        return job_answers.firings_answer(self._jobs, job, limit)

    def pause_job(self, job: str) -> Json:
        return job_answers.job_answer(self._jobs, self._jobs.pause(job))

    def resume_job(self, job: str) -> Json:
        return job_answers.job_answer(self._jobs, self._jobs.resume(job))

    def heartbeats(self) -> Json:
        return job_answers.heartbeats_answer(self._jobs)

    def change_heartbeat(self, agent: str, verb: str) -> Json:
        return job_answers.changed_heartbeat(self._jobs, agent, verb)

    def memory_status(self, agent: str | None) -> Json:
        return memory_answers.memory_status(self._cli, agent)

    def memory_index(self, agent: str | None, *, force: bool, progress: Progress) -> Json:
        return memory_answers.memory_index(self._cli, agent, force=force, progress=progress)

    def memory_search(
        self, query: str, *, agent: str | None, session: str | None, limit: int, only_sessions: bool = False
    ) -> Json:
        key = None if session is None else self._cli.session_key(session, agent=agent or "")
        sources = ["sessions"] if only_sessions else []
        return memory_answers.memory_search(self._cli, query, agent=agent, session=key, limit=limit, sources=sources)

    def memory_files(self, agent: str | None) -> Json:
        return memory_answers.memory_files_answer(self._cli, agent)

    def memory_lines(self, path: str, *, agent: str | None, first: int | None, count: int | None) -> Json:
        return memory_answers.memory_lines(self._cli, path, agent=agent, first=first, count=count)

    def memory_checks(self, agent: str | None) -> Json:
        return memory_answers.memory_checks(self._cli, agent)
