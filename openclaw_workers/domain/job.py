"""Scheduled jobs: what people and agents ask for, and what is stored of it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.ids import MessageId, new_token
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.misfire import Misfire
from openclaw_workers.domain.schedule import (
    At,
    Schedule,
    parse_at,
    parse_cron,
    parse_every,
    parse_ms,
)
from openclaw_workers.errors import BadInput, FailureReason
from openclaw_workers.field_docs import DocumentedModel

HEARTBEAT = "heartbeat-"
"""What the ids of heartbeats begin with; the rest is the agent's id."""
PROVENANCE = "cron"
"""Of the message that a firing puts into a session."""
MOST_FAILURES = 10
"""A job is paused after this many failures in a row."""
RETRY_MS = (30_000, 60_000, 300_000)
"""How long after a failure that may pass a job is tried again."""
TRANSIENT = frozenset(
    {FailureReason.RATE_LIMIT, FailureReason.TIMEOUT, FailureReason.UNKNOWN, FailureReason.CUT, "lost"}
)
"""Why a run failed, where the next try may succeed; `lost`: its workers died."""
_TARGET = re.compile(r"main|isolated|current|session:.+")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh"]


class _Camel(DocumentedModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid", defer_build=True
    )


class JobFields(_Camel):
    """What a job does, and how. All of it may be changed later."""

    name: str = ""
    """Display name."""
    agent_id: str = ""
    """Whose job it is; empty: the default agent."""
    session_target: str = ""
    """Where it runs: main, isolated (a new session each time), current (where it was created), session:<key>."""
    message: str = ""
    """Message that the agent answers in a turn. Set either this or systemEvent."""
    system_event: str = ""
    """Event that the session gets instead of a message."""
    wake_mode: Literal["now", "next-heartbeat"] = "now"
    """Whether an event starts a turn, or waits for the next one."""
    model: str = ""
    """Model of the turn; empty: the agent's own."""
    fallbacks: tuple[str, ...] | None = None
    """Models that are tried after it; unset: the agent's own."""
    thinking: Thinking | None = None
    """Thinking level of the turn."""
    timeout_seconds: Annotated[int, Field(ge=1, le=604_800)] | None = None
    """How long the turn may take."""
    light_context: bool = False
    """Leave the workspace files out of the prompt."""
    tools_allow: tuple[str, ...] = ()
    """The only tools of the turn; empty: all that the agent has."""
    delivery: Literal["none", "announce", "webhook"] = "announce"
    """Where the answer goes: none, announce (a chat) or webhook (JSON to `to`, if cron.webhooks allows it)."""
    channel: str = ""
    """Channel to send to; empty: where the session last got a message."""
    to: str = ""
    """Chat on that channel, or the address of a webhook."""
    account_id: str = ""
    """Account to send from."""
    thread_id: str = ""
    """Thread of that chat."""
    misfire: Misfire = "once"
    """Times that were missed: skip, once (only the newest) or all."""
    misfire_window: str = "24h"
    """How old a missed time may be and still fire."""
    overlap: Literal["skip", "queue"] = "skip"
    """What happens to a time that comes while the previous run is active: skip or queue."""
    delete_after_run: bool | None = None
    """Whether the job is removed after a success; unset: only jobs with at."""


class JobDraft(JobFields):
    """A job as somebody asks for it. Exactly one of at, every and cron says when."""

    at: str = ""
    """Once: an ISO time, or a duration from now such as 10s or 20m."""
    every: str = ""
    """At a fixed interval, such as 30m."""
    anchor: str = ""
    """When `every` counts from, as an ISO time; empty: one interval from now."""
    cron: str = ""
    """A cron expression of five fields, six with the seconds first, or @hourly, @daily, @weekly …"""
    tz: str = ""
    """Time zone of `at` and `cron`, such as Europe/Berlin; empty: the agent's userTimezone."""

    def schedule(self, now: int, tz: str) -> Schedule:
        """When the job is due; `tz` is the zone if it names none.

        Raises:
            BadInput: it says nothing, too much, or something that is not understood.
        """
        given = [name for name in ("at", "every", "cron") if getattr(self, name)]
        if len(given) != 1:
            said = f"{' and '.join(given)} are given" if given else "none is given"
            raise BadInput(f"a job needs one of at, every and cron; {said}")
        zone = self.tz or tz
        if self.at:
            return parse_at(self.at, now, zone)
        if self.every:
            return parse_every(self.every, now, parse_at(self.anchor, now, zone).at if self.anchor else None)
        return parse_cron(self.cron, zone)


class Job(JobFields):
    """A stored job."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    id: str
    schedule: Schedule
    authority: Authority = Authority.ANYONE
    """Of who made it; its turns have no more."""
    created_by: str = ""
    """Who made it: `cli`, `configuration` or a session key."""
    maker: str = ""
    """The person (telegram:42) or token (token:<id>) that must still be an owner when it fires; empty: nobody."""
    created_at: int = 0
    declared: bool = False
    """It stands in the configuration, and is changed there."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not _TARGET.fullmatch(self.session_target):
            raise ValueError("sessionTarget is main, isolated, current or session:<key>")
        if bool(self.message.strip()) == bool(self.system_event.strip()):
            raise ValueError("a job needs either a message or a systemEvent")
        if self.system_event and self.session_target == "isolated":
            raise ValueError("a systemEvent is for main, current or session:<key>; an isolated job needs a message")
        if self.delivery == "webhook":
            if self.channel or not self.to or self.system_event:
                raise ValueError("delivery webhook needs a message and the address in `to`, and no channel")
        elif self.to and not self.channel:
            raise ValueError("to needs a channel")
        return self

    @property
    def is_heartbeat(self) -> bool:
        return self.id.startswith(HEARTBEAT)

    @property
    def is_isolated(self) -> bool:
        return self.session_target == "isolated"

    @property
    def removes_itself(self) -> bool:
        return isinstance(self.schedule, At) if self.delete_after_run is None else self.delete_after_run

    @property
    def window_ms(self) -> int:
        return parse_ms(self.misfire_window)


class JobState(_Camel):
    """How a job stands."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    next_at: int | None = None
    paused: str = ""
    """Why it is paused; empty if it is not."""
    failures: int = 0
    """Failures in a row."""
    retries: int = 0
    last_at: int | None = None
    last_state: str = ""
    last_error: str = ""


class Firing(_Camel):
    """A firing of a job that has not ended."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    session: str
    message: str
    at: int


class LogEntry(_Camel):
    """One line of a job's run log."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    time: int
    """The scheduled time."""
    state: str
    """ok, error, skipped or missed."""
    reason: str = ""
    session: str = ""
    run: str = ""
    at: int = 0
    """When it was recorded."""


def firing_id(job_id: str, time: int) -> MessageId:
    """The message id of a firing: the same for each worker that claims it."""
    return MessageId(f"cron-{job_id}-{time}")


def new_job_id(name: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:32].strip("-")
    return f"{words}-{new_token()[:6]}" if words else f"job-{new_token()[:8]}"


def check_job_id(raw: str) -> str:
    """A given id, checked.

    Raises:
        BadInput: it is not made of a-z, 0-9, _ and -.
    """
    if not _ID.fullmatch(raw):
        raise BadInput(f"{raw!r} is not a job id", hint="a-z, 0-9, _ and -, at most 64 characters")
    return raw


def make_job(values: dict[str, Any]) -> Job:
    """A job from its fields.

    Raises:
        BadInput: they do not fit together.
    """
    try:
        job = Job.model_validate(values)
    except ValueError as error:
        problems: list[Any] = error.errors() if isinstance(error, ValidationError) else []
        said = "; ".join(str(each["msg"]).removeprefix("Value error, ") for each in problems) or str(error)
        raise BadInput(f"the job cannot be stored: {said}") from error
    parse_ms(job.misfire_window)
    return job
