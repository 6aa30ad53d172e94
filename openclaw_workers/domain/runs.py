"""A run: one turn of a session across all its attempts. A sub-agent's run spans all turns from task to result."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionId, SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import Kind, parse_key
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.domain.tree import AnnounceMode, Cleanup, Role, SpawnMode
from openclaw_workers.errors import FailureReason, describe_failure


class Lane(StrEnum):
    MAIN = "main"
    SUBAGENT = "subagent"
    SERVICE = "service"
    CRON = "cron"  # isolated turns of scheduled jobs; workers of the sub-agent lane run them


WORKER_LANES = (Lane.MAIN, Lane.SUBAGENT, Lane.SERVICE)
"""The lanes that workers serve: each is a queue."""


def lane_of(session: SessionKey) -> Lane:
    """The lane on which turns of a session run."""
    kind = parse_key(session).kind
    return Lane.SUBAGENT if kind is Kind.SUBAGENT else Lane.CRON if kind is Kind.CRON else Lane.MAIN


def queue_of(lane: Lane) -> Lane:
    """The lane whose workers run the turns of a lane."""
    return Lane.SUBAGENT if lane is Lane.CRON else lane


class RunState(StrEnum):
    """The states of a run; see docs/lifecycle.md. The last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"  # waits for its children or another session's answer; holds no worker and no lane slot
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"

    @property
    def is_final(self) -> bool:
        return self not in (RunState.QUEUED, RunState.RUNNING, RunState.PARKED)


class Attempt(BaseModel):
    """One owner of a run: which process ran it, since when, and how it got it."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    worker: str
    at: int
    how: str = "taken"
    """`taken` first, `handover` after a worker shut down, `takeover` after a lease expired, `unpark` after waiting."""
    until: int | None = None
    """When it no longer had the run; for a lost worker its last heartbeat. None while it has it or ended it."""
    end: str | None = None
    """Why: `lost`, `handover`, `parked`, or `continued` (the same run goes on with a new turn)."""
    woken: int | None = None
    """When a parked run was queued again."""


class ModelAttempt(BaseModel):
    """A model that was called without success, or skipped."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    id: str = ""
    """The id of its call in the ledger; a skipped one has an id of its own."""
    model: str
    """provider/model."""
    profile: str = ""
    """The auth profile used; empty if the model was not called."""
    reason: FailureReason
    status: int | None = None
    code: str | None = None
    error: str = ""
    milliseconds: int = 0
    skipped: bool = False
    again: bool = False
    """The next call went to the same model with the same key, as a different request."""

    @property
    def description(self) -> str:
        """What happened, in a few words for people."""
        return describe_failure(self.reason, self.status, self.code)


class Run(BaseModel):
    """A run record as read from Redis; only Lua scripts write it."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    id: RunId
    session_key: SessionKey
    session_id: SessionId | None = None
    agent_id: str = ""
    lane: Lane = Lane.MAIN
    kind: str = "main"
    parent_run_id: RunId | None = None
    """The run that spawned it. This and the fields down to `partial` are set only for a child's run."""
    requester_session_key: SessionKey | None = None
    """The session that receives the result."""
    requester_session_id: SessionId | None = None
    controller_session_key: SessionKey | None = None
    """The session that may steer and stop it."""
    root_session_key: SessionKey | None = None
    batch: BatchId | None = None
    batch_index: int = 0
    spawn_seq: int = 0
    """Its number among all runs that the parent session has spawned."""
    depth: int = 0
    role: Role | None = None
    authority: Authority = Authority.ANYONE
    """The authority of who asked for it; the lowest, if several did. What follows from it has no more."""
    label: str = ""
    task: str = ""
    cleanup: Cleanup = Cleanup.KEEP
    spawn_mode: SpawnMode = SpawnMode.RUN
    announce: AnnounceMode = AnnounceMode.BATCH
    deliver: bool = False
    wake_on_descendant_settle: bool = True
    metadata: dict[str, Any] = Field(default_factory=dict)
    timeout_ms: int | None = None
    settled_at: int | None = None
    """When it was counted in its batch: the run and everything it spawned had ended."""
    folded: list[BatchId] = Field(default_factory=list)
    """Batches whose results arrived after the run had ended; its own announce includes them."""
    partial: str | None = None
    """The partial result when it failed."""

    state: RunState
    attempt: int = 1
    attempts: list[Attempt] = Field(default_factory=list)
    covers: list[MessageId] = Field(default_factory=list)
    title: str = ""
    """The beginning of the message that it answers."""
    model: str | None = None
    wanted_model: str | None = None
    """The model that the answered message asked for."""
    model_attempts: list[ModelAttempt] = Field(default_factory=list)
    last_call: str = ""
    """The id of the last model call that an owner of the run recorded in the ledger."""
    dead: list[int] = Field(default_factory=list)
    """Fences of owners that may have died during a model call that is not in the ledger yet."""
    waits_for: str = ""
    """Where the files of its agent are, if it waits until a worker sees them."""
    queued_at: int = 0
    started_at: int | None = None
    ended_at: int | None = None
    deadline_at: int | None = None
    usage: Usage = Field(default_factory=Usage)
    cost: float = 0.0
    text: str | None = None
    """Kept for an hour after the end. Later it is in the transcript of `session_id`, or in the archive of that."""
    shortened: bool = False
    """Only the beginning of `text` is kept with the record."""
    entry: int | None = None
    """The index in the transcript of the last entry that it wrote when it ended; the text is there or before it."""
    error: str | None = None
    reason: str | None = None
    """Why it ended, in one word.

    complete, length (the answer stops at the model's output limit), silent, budget, yielded, error or a provider
    failure reason, killed, timeout, lost, session-reset, session-delete.
    """

    suppressed: bool = False
    """The send policy held its reply back."""
    cut: bool = False
    """`text` stops at the model's output limit. For a child it may come from a turn before its last."""

    @property
    def fallback_from(self) -> str | None:
        """The requested model, if another one answered."""
        if self.state is not RunState.OK or not self.model_attempts:
            return None
        wanted = self.model_attempts[0].model
        return wanted if self.model and self.model != wanted else None

    @property
    def parked_spans(self) -> list[tuple[int, int | None]]:
        """From when until when it was parked: until it was woken, or else until it ended; None while it is parked."""
        return [
            (attempt.until, attempt.woken or self.ended_at)
            for attempt in self.attempts
            if attempt.end == "parked" and attempt.until is not None
        ]

    @property
    def is_child(self) -> bool:
        return self.batch is not None

    @property
    def outcome(self) -> Literal["ok", "error", "timeout", "unknown"] | None:
        """How it ended, as reported for a sub-agent. The runtime decides this, never the model's own words."""
        match self.state:
            case RunState.OK:
                return "ok"
            case RunState.TIMEOUT:
                return "timeout"
            case RunState.ERROR:
                return "unknown" if self.reason == "lost" else "error"
            case RunState.KILLED:
                return "error"
            case _:
                return None

    @property
    def ended_reason(self) -> str | None:
        """complete, error, killed, session-reset or session-delete."""
        if not self.state.is_final:
            return None
        if self.state is RunState.OK:
            return "complete"
        if self.state is RunState.KILLED:
            return self.reason if self.reason in ("session-reset", "session-delete") else "killed"
        return "session-delete" if self.reason == "session-delete" else "error"
