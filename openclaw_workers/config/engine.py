"""The engine's own settings: lanes, leases, limits and the servers it uses."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, StrictBool, StrictFloat, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import WEEK_SECONDS, QdrantUrl, RedisUrl, Section


class LaneSettings(Section):
    concurrency: StrictInt = Field(default=4, ge=1, le=10_000)
    """Turns that one worker of this lane runs at a time."""

    max_concurrent: StrictInt | None = Field(default=None, ge=1)
    """Turns that the whole fleet runs at a time on this lane; unset means no cap."""


class SubagentLaneSettings(LaneSettings):
    concurrency: StrictInt = Field(default=8, ge=1, le=10_000)
    """Turns that one worker of this lane runs at a time."""

    niceness: StrictInt = Field(default=5, ge=0, le=19)
    """How much workers of this lane give way to other processes of their host, as nice(1) counts. People who wait for
    an answer come before sub-agents and scheduled turns."""


class ServiceLaneSettings(Section):
    concurrency: StrictInt = Field(default=4, ge=1, le=10_000)
    """Tasks that one worker of this lane runs at a time."""


class LanesSettings(Section):
    main: LaneSettings = LaneSettings.model_construct()
    """Turns of the sessions that people talk to."""

    subagent: SubagentLaneSettings = SubagentLaneSettings.model_construct()
    """Turns of spawned sessions. Its cap may also be written as subagents.maxConcurrent."""

    service: ServiceLaneSettings = ServiceLaneSettings.model_construct()
    """Short tasks that must not wait behind turns: delivery, announces, maintenance."""


class EngineSettings(Section):
    lease_seconds: StrictFloat = Field(default=8.0, gt=0, le=3600)
    """Seconds after which another worker takes over the turns of a dead or silent one."""

    max_attempts: StrictInt = Field(default=3, ge=1)
    """How often a turn may crash its worker before it is recorded as failed."""

    grace_seconds: StrictFloat = Field(default=30.0, ge=0, le=86_400)
    """Seconds a stopping worker has to hand over its running turns."""

    sweep_seconds: StrictFloat = Field(default=0.2, gt=0)
    """Seconds between two sweeps of a worker for due items, at most a quarter of leaseSeconds. If that makes more than
    30 sweeps a second in the whole fleet, each worker waits longer."""

    accept_timeout_seconds: StrictFloat = Field(default=2.0, gt=0, le=60)
    """Seconds to wait for Redis before accepting a message fails."""

    namespace: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")] = "ocw"
    """First part of every Redis key; two installations can share one Redis under two names."""

    task_events: StrictBool = True
    """Send Celery's task events, which Flower shows; they cost about a fifth of the throughput."""

    max_steps: StrictInt = Field(default=200, ge=1)
    """Model calls that one turn may make."""

    tool_timeout_seconds: StrictFloat = Field(default=300.0, gt=0, le=WEEK_SECONDS)
    """Seconds that one tool call may take."""

    hook_timeout_seconds: StrictFloat = Field(default=5.0, gt=0, le=300)
    """Seconds that one hook of a plugin may take."""

    hook_failure: Literal["block", "pass"] = "block"
    """If a hook fails or takes too long: block what comes next, or let it pass."""

    @model_validator(mode="after")
    def _sweep_within_lease(self) -> Self:
        if self.sweep_seconds > self.lease_seconds / 4:
            raise ValueError("expected sweepSeconds to be at most a quarter of leaseSeconds")
        return self


class RedisSettings(Section):
    url: RedisUrl | None = None
    """Redis for the broker and all state; REDIS_URL also sets it. Unset: `ocw up` starts a private one."""


class QdrantSettings(Section):
    url: QdrantUrl | None = None
    """Server of the memory index; QDRANT_URL also sets it. Unset: an embedded one, kept by the service worker."""

    api_key: SecretStr | None = None
    """Key of that server; QDRANT_API_KEY also sets it."""
