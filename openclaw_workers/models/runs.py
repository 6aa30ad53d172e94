"""A run: one turn of a session, across all its attempts."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from openclaw_workers.models.ids import MessageId, RunId, SessionId, SessionKey
from openclaw_workers.models.transcript import Usage


class Lane(StrEnum):
    MAIN = "main"
    SUBAGENT = "subagent"
    SERVICE = "service"


class RunState(StrEnum):
    """States of a run; see docs/lifecycle.md. The last four never change again."""

    QUEUED = "queued"
    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"

    @property
    def is_final(self) -> bool:
        return self not in (RunState.QUEUED, RunState.RUNNING)


class Attempt(BaseModel):
    """One owner of a run: which process carried it, from when, and how it ended."""

    model_config = ConfigDict(extra="ignore")

    worker: str
    at: int
    how: str = "taken"
    """`taken` first, `handover` after its worker left, `takeover` after a lease ran out."""


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
    state: RunState
    attempt: int = 1
    attempts: list[Attempt] = Field(default_factory=list)
    covers: list[MessageId] = Field(default_factory=list)
    model: str | None = None
    queued_at: int = 0
    started_at: int | None = None
    ended_at: int | None = None
    deadline_at: int | None = None
    usage: Usage = Field(default_factory=Usage)
    text: str | None = None
    error: str | None = None
    reason: str | None = None
    """Why it ended, in one word: complete, error, killed, timeout, lost, session-reset, session-delete."""
