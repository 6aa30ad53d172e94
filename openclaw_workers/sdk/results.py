"""What clients return: the JSON that `ocw --json` prints, as typed values."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Result(BaseModel):
    """A newer server may send more fields; they stay readable in `model_extra`."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="allow")


class Usage(_Result):
    """Tokens."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0


class Problem(_Result):
    """Why there is no answer."""

    type: str
    message: str
    hint: str | None = None


class Subagent(_Result):
    """How a sub-agent ended."""

    run_id: str
    child_session_key: str
    label: str | None = None
    state: str
    outcome: str | None = None


class Answer(_Result):
    """The answer to a message; `ok` says whether there is one."""

    ok: bool
    status: str
    """`ok`, `command`, `accepted`, `error`, `killed`, `timeout`, `cancelled`, `dropped`, `rejected`; or the state of a
    run that goes on after the time given for waiting."""
    session_key: str
    session_id: str | None = None
    run_id: str | None = None
    reason: str | None = None
    text: str | None = None
    reply: str | None = None
    """The text under its other name."""
    usage: Usage | None = None
    model: str | None = None
    fallback_from: str | None = None
    cost: float | None = None
    error: Problem | None = None
    settled: bool | None = None
    """With `wait="tree"`: whether everything that the message started has ended."""
    replies: list[LaterReply] = Field(default_factory=list)
    """With `wait="tree"`: the replies to the results of sub-agents, in order."""
    subagents: list[Subagent] = Field(default_factory=list)


class LaterReply(_Result):
    run_id: str | None = None
    status: str
    reason: str | None = None
    text: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    error: Problem | None = None


class Event(_Result):
    """Something that happened in a session, such as `text.delta`. docs/python.md lists the types."""

    id: str
    type: str
    seq: int = 0
    at: int = 0
    """Milliseconds since the epoch."""
    session_key: str = ""
    data: dict[str, Any] = Field(default_factory=dict)

    @property
    def text(self) -> str:
        """The new text of a `text.delta` or `thinking.delta`."""
        return str(self.data.get("text", ""))


class Session(_Result):
    session_key: str
    session_id: str
    agent_id: str
    kind: str
    state: str
    run_id: str | None = None
    worker: str | None = None
    waiting: int = 0
    turns: int = 0
    tokens: int = 0
    created_at: int
    updated_at: int


class Entry(_Result):
    """A transcript entry."""

    role: str
    timestamp: int = 0
    run_id: str | None = None
    content: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(str(block["text"]) for block in self.content if block.get("type") == "text")


class Run(_Result):
    run_id: str
    session_key: str
    session_id: str | None = None
    agent_id: str
    lane: str
    state: str
    reason: str | None = None
    label: str | None = None
    depth: int = 0
    parent_run_id: str | None = None
    model: str | None = None
    queued_at: int
    started_at: int | None = None
    ended_at: int | None = None
    usage: Usage = Usage()
    cost: float = 0.0
    text: str | None = None
    error: str | None = None


class Tree(_Result):
    """A run with what it has spawned."""

    run_id: str
    session_key: str
    label: str | None = None
    kind: str
    state: str
    outcome: str | None = None
    settled: bool
    lane: str
    host: str | None = None
    depth: int = 0
    tokens: int = 0
    cost: float = 0.0
    error: str | None = None
    children: list[Tree] = Field(default_factory=list)


class Stopped(_Result):
    """What a stop did; the worker of a running turn ends it within seconds."""

    run_id: str
    session_key: str
    state: str
    cancelled_messages: int = 0
    stopped_subagents: int = 0
