"""Scheduled jobs: limits, and the jobs that the configuration declares."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import BaseUrl, Duration, Secret, Section
from openclaw_workers.domain.job import HEARTBEAT, JobDraft, make_job
from openclaw_workers.domain.webhook_url import is_allowed
from openclaw_workers.errors import BadInput


def _not_a_heartbeat(value: str) -> str:
    if value.startswith(HEARTBEAT):
        raise ValueError(f"expected an id that does not begin with {HEARTBEAT}: heartbeats have those")
    return value


JobId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$"), AfterValidator(_not_a_heartbeat)]


class CronJobSettings(Section, JobDraft):
    """A job as `ocw cron add` makes it."""

    @model_validator(mode="after")
    def _is_a_job(self) -> Self:
        try:
            schedule = self.schedule(0, "UTC")
            fields = self.model_dump(exclude={"at", "every", "anchor", "cron", "tz"})
            make_job({**fields, "id": "x", "schedule": schedule, "session_target": self.session_target or "main"})
            if self.at and not self.at[:4].isdigit():
                raise BadInput("at is an ISO time here: a duration has no beginning in a file")
        except BadInput as error:
            raise ValueError(error.message) from error
        return self


class CronWebhookSettings(Section):
    allow: tuple[BaseUrl, ...] = ()
    """Beginnings of addresses that jobs may send answers to, such as https://example.com/hooks; none by default."""

    token: Secret | None = None
    """Sent along as `Authorization: Bearer`."""


class CronSettings(Section):
    enabled: StrictBool = True
    """Whether scheduled jobs and heartbeats fire; those that are due meanwhile count as missed."""

    max_concurrent: StrictInt = Field(default=2, ge=1)
    """Isolated scheduled turns that the whole fleet runs at a time, on workers of the sub-agent lane."""

    session_retention: Duration = timedelta(hours=24)
    """How long the session of an isolated run is kept after its last use."""

    run_log_entries: StrictInt = Field(default=200, ge=1)
    """Lines of the run log kept for each job, for at most seven days."""

    webhooks: CronWebhookSettings = CronWebhookSettings.model_construct()
    """Where jobs with `delivery: webhook` may send their answers."""

    jobs: dict[JobId, CronJobSettings] = Field(default_factory=dict)
    """Declared jobs by id. They have the authority of an owner."""

    @model_validator(mode="after")
    def _webhooks_are_allowed(self) -> Self:
        for name, job in self.jobs.items():
            if job.delivery == "webhook" and not is_allowed(job.to, self.webhooks.allow):
                raise ValueError(f"expected webhooks.allow to list the address of the job {name}")
        return self
