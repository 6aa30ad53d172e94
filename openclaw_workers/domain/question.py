"""A question to people that a run waits for: an approval, or what `ask_user` asks."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.messages import Authority


class QuestionKind(StrEnum):
    APPROVAL = "approval"  # whether a command may run
    ASK = "ask"  # what the agent wants to know


class QuestionState(StrEnum):
    WAITING = "waiting"
    ANSWERED = "answered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"  # the run was stopped, or its session reset


class Choice(StrEnum):
    """The answers to an approval."""

    ONCE = "allow-once"
    ALWAYS = "allow-always"
    FOR_A_TIME = "allow-for-a-time"
    DENY = "deny"


def _list(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value


class Question(BaseModel):
    """As the store keeps it. All times are epoch milliseconds."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    id: str
    kind: QuestionKind
    session: SessionKey
    run: RunId
    call: str = ""
    agent: str = ""
    text: str
    """The question; for an approval, why it is asked."""
    choices: Annotated[tuple[str, ...], BeforeValidator(_list)] = ()
    command: str = ""
    """The exact command, of an approval. This and the next two make the operation."""
    cwd: str = ""
    place: str = ""
    patterns: Annotated[tuple[str, ...], BeforeValidator(_list)] = ()
    """What `allow always` adds to the list; empty if the command has more than plain words."""
    lasts_ms: int = 0
    """How long it is allowed for a time."""
    address: str = ""
    """The route of the chat that was asked; empty if only the page and the command line show it."""
    authority: Authority = Authority.OWNER
    """Who may answer."""
    state: QuestionState = QuestionState.WAITING
    asked_at: int = 0
    expires_at: int = 0
    answer: str = ""
    by: str = ""
    answered_at: int | None = None

    @property
    def operation(self) -> str:
        return operation_id(self.agent, self.command, self.cwd, self.place)


def question_id(session_id: str, run: RunId, call_id: str) -> str:
    """Derived, so that repeating a call refers to the same question; short, because people type it."""
    return "q-" + hashlib.sha256("\0".join((session_id, run, call_id)).encode()).hexdigest()[:12]


def operation_id(agent: str, command: str, cwd: str, place: str) -> str:
    """Names one exact operation: the command, its directory and where it runs."""
    return hashlib.sha256("\0".join((agent, command, cwd, place)).encode()).hexdigest()[:32]
