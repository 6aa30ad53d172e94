"""A run: one turn of a session, across all its attempts; for a sub-agent, all turns from its task to its result."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionId, SessionKey
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.domain.tree import AnnounceMode, Cleanup, Role, SpawnMode
from openclaw_workers.errors import FailureReason


class Lane(StrEnum):
    MAIN = "main"
    SUBAGENT = "subagent"
    SERVICE = "service"


class RunState(StrEnum):
    """States of a run; see docs/lifecycle.md. The last four never change again."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"  # holds nothing: waits for its children, or for another session's answer
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"

    @property
    def is_final(self) -> bool:
        return self not in (RunState.QUEUED, RunState.RUNNING, RunState.PARKED)


class Attempt(BaseModel):
    """One owner of a run: which process carried it, from when, and how it ended."""

    model_config = ConfigDict(extra="ignore")

    worker: str
    at: int
    how: str = "taken"
    """`taken` first, `handover` after its worker left, `takeover` after a lease ran out, `unpark` after waiting."""


class ModelAttempt(BaseModel):
    """A model that was asked, or skipped, and did not answer."""

    model_config = ConfigDict(extra="ignore")

    id: str = ""
    """That of its call in the ledger; one that was skipped has an id of its own."""
    model: str
    """provider/model."""
    profile: str = ""
    """The key it was asked by; empty when it was not asked."""
    reason: FailureReason
    status: int | None = None
    code: str | None = None
    error: str = ""
    milliseconds: int = 0
    skipped: bool = False
    again: bool = False
    """The next call was to the same model by the same key, in another form."""


class Run(BaseModel):
    """A run record as it is read back; only Lua scripts write it."""

    model_config = ConfigDict(extra="ignore")

    id: RunId
    session_key: SessionKey
    session_id: SessionId | None = None
    agent_id: str = ""
    lane: Lane = Lane.MAIN
    kind: str = "main"
    parent_run_id: RunId | None = None
    """The run that spawned it; with the fields below only where it is a child's."""
    requester_session_key: SessionKey | None = None
    """Who hears the result."""
    requester_session_id: SessionId | None = None
    controller_session_key: SessionKey | None = None
    """Who may steer and stop it."""
    root_session_key: SessionKey | None = None
    batch: BatchId | None = None
    batch_index: int = 0
    spawn_seq: int = 0
    """Its place among all that its session has spawned."""
    depth: int = 0
    role: Role | None = None
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
    """When it was counted in its batch: it and all it spawned had ended."""
    folded: list[BatchId] = Field(default_factory=list)
    """Batches that others had spawned, whose results came for it and which it did not hear any more."""
    partial: str | None = None
    """What there was of a result when it failed."""

    state: RunState
    attempt: int = 1
    attempts: list[Attempt] = Field(default_factory=list)
    covers: list[MessageId] = Field(default_factory=list)
    model: str | None = None
    wanted_model: str | None = None
    """The model that the message it answers asked for itself."""
    model_attempts: list[ModelAttempt] = Field(default_factory=list)
    last_call: str = ""
    """The model call that an owner of the run booked last, as in models.ledger."""
    dead: list[int] = Field(default_factory=list)
    """Owners, by their fence, that died while they may have been asking a model, and whose call is not booked yet."""
    queued_at: int = 0
    started_at: int | None = None
    ended_at: int | None = None
    deadline_at: int | None = None
    usage: Usage = Field(default_factory=Usage)
    cost: float = 0.0
    text: str | None = None
    error: str | None = None
    reason: str | None = None
    """Why it ended, in one word.

    complete, length (the answer stops at the model's output limit), silent, budget, yielded, error or the provider's
    error class, killed, timeout, lost, session-reset, session-delete.
    """

    cut: bool = False
    """`text` stops at the model's output limit; a child's may be that of a turn before its last."""

    @property
    def fallback_from(self) -> str | None:
        """The model that was asked for, if another one answered."""
        if self.state is not RunState.OK or not self.model_attempts:
            return None
        wanted = self.model_attempts[0].model
        return wanted if self.model and self.model != wanted else None

    @property
    def is_child(self) -> bool:
        return self.batch is not None

    @property
    def outcome(self) -> Literal["ok", "error", "timeout", "unknown"] | None:
        """How it ended, in the words of a sub-agent's record: by what the runtime saw, never by what the model said."""
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
