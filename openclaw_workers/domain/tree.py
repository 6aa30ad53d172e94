"""The session tree: what a child is spawned with, and the batch it belongs to."""

from __future__ import annotations

import hashlib
import uuid
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionId, SessionKey


class Role(StrEnum):
    """Derived from the depth: whether a session may spawn children."""

    MAIN = "main"
    ORCHESTRATOR = "orchestrator"
    LEAF = "leaf"


class AnnounceMode(StrEnum):
    BATCH = "batch"  # one announce when all children of one message have settled
    EACH = "each"  # one announce per child
    NONE = "none"  # no announce


class SpawnMode(StrEnum):
    RUN = "run"  # one task, then archived
    SESSION = "session"  # stays open, bound to a thread


class Cleanup(StrEnum):
    DELETE = "delete"  # deleted once its result is delivered
    KEEP = "keep"  # archived after archiveAfterMinutes


class BatchState(StrEnum):
    """The state of a batch's announce, independent of how its runs ended.

    All but the first two are final, except that a `blocked` announce can be retried.
    """

    RUNNING = "running"  # some child has not settled
    SETTLED = "settled"  # all children have settled; the announce is pending
    DELIVERED = "delivered"  # the announce is in the parent's inbox
    NONE = "none"  # the parent asked for no announce
    ATTACHED = "attached"  # part of the parent's own result, because the parent wanted no turn for it
    FOLDED = "folded"  # part of the parent's own result, because the parent's run had ended
    ARCHIVED = "archived"  # the parent was reset in the meantime; the results are in its archive
    NOBODY = "nobody"  # the parent was deleted, and it had no parent itself
    BLOCKED = "blocked"  # delivery failed; the results are kept for 7 days

    @property
    def is_pending(self) -> bool:
        return self in (BatchState.RUNNING, BatchState.SETTLED)


class Batch(BaseModel):
    """A batch record as read from Redis; only Lua scripts write it."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    id: BatchId
    state: BatchState
    mode: AnnounceMode
    parent_session: SessionKey
    parent_session_id: SessionId
    parent_run: RunId
    root: SessionKey
    above: SessionKey = SessionKey("")
    """The session that spawned the parent, if any. It receives the results if the parent was deleted."""
    above_id: SessionId = SessionId("")
    """The session id that `above` had when it spawned the parent."""
    folded_into: RunId | None = None
    """The run whose own announce includes this batch, because that run ended with the results still in its inbox."""
    members: list[RunId]
    created_at: int
    settled_at: int | None = None
    announced_at: int | None = None
    ends_reported: bool = False
    """The announce was blocked before, and the plugins already received the outcomes of its runs."""
    tries: int = 0
    last_error: str = Field(default="")


def role_at(depth: int, max_depth: int) -> Role:
    if depth == 0:
        return Role.MAIN
    return Role.ORCHESTRATOR if depth < max_depth else Role.LEAF


def child_run_id(session_id: str, run: RunId, call_id: str) -> RunId:
    """Rule 3: the id is derived, so that repeating a call refers to the same child."""
    return RunId(f"run-{_digest('run', session_id, run, call_id)}")


def child_uuid(session_id: str, run: RunId, call_id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\0".join((session_id, run, call_id))))


def batch_id(session_id: str, run: RunId, call_id: str) -> BatchId:
    """Derived from the first call of the batch."""
    return BatchId(f"batch-{_digest('batch', session_id, run, call_id)}")


ANNOUNCE = "announce-"
"""The beginning of the ids of messages that deliver results."""


def announce_id(batch: BatchId) -> MessageId:
    """The id of the message that delivers a batch's results to the parent."""
    return MessageId(f"{ANNOUNCE}{batch}")


def own_batch(run: RunId) -> BatchId:
    """The batch of a child's later run, which is its only member."""
    return BatchId(f"batch-{run}")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
