"""The session tree: what a child is spawned with, and the batch it belongs to."""

from __future__ import annotations

import hashlib
import uuid
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionId, SessionKey


class Role(StrEnum):
    """By depth: may it spawn children of its own?"""

    MAIN = "main"
    ORCHESTRATOR = "orchestrator"
    LEAF = "leaf"


class AnnounceMode(StrEnum):
    BATCH = "batch"  # one announce when all children of one message have settled
    EACH = "each"  # one announce per child
    NONE = "none"  # nobody is told


class SpawnMode(StrEnum):
    RUN = "run"  # one task, then archived
    SESSION = "session"  # stays, bound to a thread


class Cleanup(StrEnum):
    DELETE = "delete"  # gone once its result is delivered
    KEEP = "keep"  # archived after archiveAfterMinutes


class BatchState(StrEnum):
    """Where the announce of a batch stands; separate from how its runs ended. The last six never change again,
    but for `blocked`, which can be tried again."""

    RUNNING = "running"  # some child has not settled
    SETTLED = "settled"  # all have; the announce is pending
    DELIVERED = "delivered"  # in the parent's inbox
    NONE = "none"  # nobody was to be told
    ATTACHED = "attached"  # carried up by the parent, which wanted no turn for it
    FOLDED = "folded"  # carried up by the parent, whose own run had ended
    ARCHIVED = "archived"  # the parent began a new life meanwhile
    NOBODY = "nobody"  # the parent was deleted, and nobody is above it
    BLOCKED = "blocked"  # it could not be delivered; the results are kept 7 days

    @property
    def is_pending(self) -> bool:
        return self in (BatchState.RUNNING, BatchState.SETTLED)


class Batch(BaseModel):
    """A batch record as it is read back; only Lua scripts write it."""

    model_config = ConfigDict(extra="ignore")

    id: BatchId
    state: BatchState
    mode: AnnounceMode
    parent_session: SessionKey
    parent_session_id: SessionId
    parent_run: RunId
    root: SessionKey
    above: SessionKey = SessionKey("")
    """Who spawned the parent, if anybody did; and hears of it if the parent has vanished."""
    above_id: SessionId = SessionId("")
    """The session id of the one above when it spawned the parent."""
    folded_into: RunId | None = None
    """The run whose announce carries it up, if it was in that run's inbox when it ended."""
    members: list[RunId]
    created_at: int
    settled_at: int | None = None
    announced_at: int | None = None
    ends_told: bool = False
    """It was blocked once, and plugins have heard then how its runs ended."""
    tries: int = 0
    last_error: str = Field(default="")


def role_at(depth: int, max_depth: int) -> Role:
    if depth == 0:
        return Role.MAIN
    return Role.ORCHESTRATOR if depth < max_depth else Role.LEAF


def child_run_id(session_id: str, run: RunId, call_id: str) -> RunId:
    """Rule 3: derived, so that a repeat of the same call means the same child."""
    return RunId(f"run-{_digest('run', session_id, run, call_id)}")


def child_uuid(session_id: str, run: RunId, call_id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\0".join((session_id, run, call_id))))


def batch_id(session_id: str, run: RunId, call_id: str) -> BatchId:
    """Named after the first call of those that belong together."""
    return BatchId(f"batch-{_digest('batch', session_id, run, call_id)}")


def announce_id(batch: BatchId) -> MessageId:
    """The message that brings the parent a batch's results."""
    return MessageId(f"announce-{batch}")


def own_batch(run: RunId) -> BatchId:
    """The batch of a child's later run, which has no others in it."""
    return BatchId(f"batch-{run}")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
