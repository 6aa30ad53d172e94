"""Scheduled jobs in requests and answers."""

from __future__ import annotations

from ingress.api.models.answers import Done, Json, Shape
from ingress.api.table import Input
from openclaw_workers.domain.job import JobDraft


class JobInput(JobDraft, Input):
    """Exactly one of at, every and cron says when; message or systemEvent says what."""

    id: str = ""
    """Default: made from the name."""


class JobPatch(JobDraft, Input):
    """What is given is changed; a new at, every or cron replaces the schedule."""


class Job(Shape):
    id: str
    name: str
    agent_id: str
    schedule: str
    session_target: str
    message: str | None
    system_event: str | None
    next_at: int | None
    next_times: list[int]
    paused: str | None
    at_work: int
    failures: int
    last_at: int | None
    last_state: str | None
    last_error: str | None
    declared: bool


class JobsAnswer(Done):
    jobs: list[Job]


class JobAnswer(Job):
    ok: bool


class JobFiredAnswer(Done):
    id: str
    time: int


class JobRunsAnswer(Done):
    id: str
    runs: list[Json]


class Heartbeat(Shape):
    agent_id: str
    schedule: str
    next_at: int | None
    paused: str | None
    log: list[Json]


class HeartbeatsAnswer(Done):
    heartbeats: list[Heartbeat]


class HeartbeatAnswer(Heartbeat):
    ok: bool
