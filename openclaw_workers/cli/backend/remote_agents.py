"""Scheduled jobs, heartbeats and memory through the HTTP API."""

from __future__ import annotations

from typing import Any

from pydantic.alias_generators import to_camel

from openclaw_workers.cli.backend.protocol import Json, Progress
from openclaw_workers.cli.backend.remote_calls import RemoteCalls
from openclaw_workers.remote.address import path_of


class RemoteAgents(RemoteCalls):
    def jobs(self) -> Json:
        return self._get("/cron")

    def add_job(self, fields: dict[str, Any], job: str) -> Json:
        return self._post("/cron", id=job, **_camel(fields))

    def change_job(self, job: str, fields: dict[str, Any]) -> Json:
        return self._request("PATCH", path_of("cron", job), body=_camel(fields))

    def remove_job(self, job: str) -> Json:
        return self._request("DELETE", path_of("cron", job))

    def run_job(self, job: str) -> Json:
        return self._post(path_of("cron", job, "run"))

    def job_runs(self, job: str, limit: int) -> Json:
        return self._get(path_of("cron", job, "runs"), limit=limit)

    def pause_job(self, job: str) -> Json:
        return self._post(path_of("cron", job, "pause"))

    def resume_job(self, job: str) -> Json:
        return self._post(path_of("cron", job, "resume"))

    def heartbeats(self) -> Json:
        return self._get("/heartbeats")

    def change_heartbeat(self, agent: str, verb: str) -> Json:
        return self._post(path_of("heartbeats", agent, verb))

    def memory_status(self, agent: str | None) -> Json:
        return self._get("/memory", agentId=agent)

    def memory_index(self, agent: str | None, *, force: bool, progress: Progress) -> Json:
        """Reports no progress."""
        return self._post("/memory/index", agentId=agent, force=force)

    def memory_search(
        self, query: str, *, agent: str | None, session: str | None, limit: int, only_sessions: bool = False
    ) -> Json:
        source = "sessions" if only_sessions else None
        return self._get("/memory/search", query=query, agentId=agent, sessionKey=session, limit=limit, source=source)

    def memory_files(self, agent: str | None) -> Json:
        return self._get("/memory/files", agentId=agent)

    def memory_lines(self, path: str, *, agent: str | None, first: int | None, count: int | None) -> Json:
        return self._get("/memory/file", path=path, agentId=agent, first=first, lines=count)

    def memory_checks(self, agent: str | None) -> Json:
        return self._get("/memory/doctor", agentId=agent)


def _camel(fields: dict[str, Any]) -> dict[str, Any]:
    return {to_camel(name): list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
