"""The engine's own settings: lanes, leases, limits and the servers it stands on."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import WEEK_SECONDS, QdrantUrl, RedisUrl, Section


class LaneSettings(Section):
    concurrency: StrictInt = Field(default=4, ge=1, le=10_000)
    """Turns one worker of this lane carries at a time."""

    max_concurrent: StrictInt | None = Field(default=None, ge=1)
    """Turns the whole fleet carries at a time on this lane; unset means no cap."""


class SubagentLaneSettings(LaneSettings):
    concurrency: StrictInt = Field(default=8, ge=1, le=10_000)
    """Turns one worker of this lane carries at a time."""


class ServiceLaneSettings(Section):
    concurrency: StrictInt = Field(default=4, ge=1, le=10_000)
    """Tasks one worker of this lane carries at a time."""


class LanesSettings(Section):
    main: LaneSettings = LaneSettings()
    """Turns of the sessions people talk to."""

    subagent: SubagentLaneSettings = SubagentLaneSettings()
    """Turns of spawned sessions. Its cap may also be written as subagents.maxConcurrent."""

    service: ServiceLaneSettings = ServiceLaneSettings()
    """Short tasks that must not wait behind turns: delivery, announcements, upkeep."""


class EngineSettings(Section):
    lease_seconds: StrictFloat = Field(default=8.0, gt=0, le=3600)
    """Seconds a silent worker keeps its turns; a dead one's turns are taken over after this."""

    max_attempts: StrictInt = Field(default=3, ge=1)
    """Times a turn may take its worker down before it is recorded as failed."""

    grace_seconds: StrictFloat = Field(default=30.0, ge=0, le=86_400)
    """Seconds a stopping worker has to hand over its running turns."""

    sweep_seconds: StrictFloat = Field(default=1.0, gt=0)
    """Seconds between two looks at what has fallen due; shorter than the lease."""

    accept_timeout_seconds: StrictFloat = Field(default=2.0, gt=0, le=60)
    """Seconds after which accepting a message answers an error instead of waiting for Redis."""

    namespace: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")] = "ocw"
    """First part of every Redis key; two installations can share one Redis under two names."""

    task_events: StrictBool = True
    """Send Celery's task events, which Flower shows; they cost about a fifth of the throughput."""

    max_steps: StrictInt = Field(default=200, ge=1)
    """Model calls one turn may make."""

    tool_timeout_seconds: StrictFloat = Field(default=300.0, gt=0, le=WEEK_SECONDS)
    """Seconds one tool call may take at most."""

    @model_validator(mode="after")
    def _sweep_within_lease(self) -> Self:
        if self.sweep_seconds > self.lease_seconds / 4:
            raise ValueError("expected sweepSeconds to be at most a quarter of leaseSeconds")
        return self


class RedisSettings(Section):
    url: RedisUrl | None = None
    """Broker and all state; REDIS_URL sets it too. Unset: `ocw up` starts a private one."""


class QdrantSettings(Section):
    url: QdrantUrl | None = None
    """Memory index on a server; QDRANT_URL sets it too. Unset: an embedded one. Not in effect yet: there is neither."""
