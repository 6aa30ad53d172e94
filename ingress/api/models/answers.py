"""What endpoints answer: the JSON of `ocw --json`, for the OpenAPI document. docs/cli.md describes the fields."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.tokens import Scope

Json = dict[str, Any]


class Shape(BaseModel):
    """Later versions may add fields."""

    # Answers are described, not checked: what validates them is built only if somebody asks for the document.
    model_config = ConfigDict(
        extra="allow",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
        defer_build=True,
    )


class ErrorFields(Shape):
    code: str
    message: str
    hint: str | None


class ErrorAnswer(Shape):
    error: ErrorFields


class Done(Shape):
    ok: bool


class Failure(Shape):
    type: str
    message: str
    hint: str | None


class Tokens(Shape):
    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


class AnswerBody(Shape):
    ok: bool
    run_id: str | None
    session_key: str
    session_id: str | None
    status: str
    reason: str | None
    text: str | None
    reply: str | None
    response: str | None
    usage: Tokens | None
    model: str | None
    fallback_from: str | None
    cost: float | None
    error: Failure | None


class Accepted(Shape):
    """The message is stored, and will be answered."""

    accepted: bool
    message_id: str
    session_key: str
    run_id: str | None
    """The run that it started; null if the session is busy."""
    event_id: str
    """Events after this one belong to it."""
    duplicate: bool
    """A message with the same idempotency key had come before."""


class Session(Shape):
    session_key: str
    session_id: str
    agent_id: str
    kind: str
    label: str | None
    display_name: str | None
    channel: str | None
    state: str
    run_id: str | None
    worker: str | None
    lease_until: int | None
    waiting: int
    waits_for: str | None
    """Where the files of its agent are, if no worker takes turns there; null otherwise."""
    turns: int
    tokens: int
    created_at: int
    updated_at: int


class SessionsAnswer(Done):
    sessions: list[Session]
    unreadable: int


class SessionAnswer(Session):
    ok: bool
    receipts: dict[str, int]
    quarantined: list[Json]
    cost: float
    model_calls: int
    thinking_level: str | None
    reasoning_level: str | None
    verbose_level: str | None
    row: Json


class HistoryAnswer(Done):
    session_key: str
    entries: list[Json]
    first: int
    """Position of the first entry; ask for entries before it to go back."""


class WaitingMessage(Shape):
    message_id: str
    text: str
    sender: str
    kind: str
    mode: str
    accepted_at: int


class QueueAnswer(Done):
    session_key: str
    state: str
    run_id: str | None
    waiting: list[WaitingMessage]


class KeyAnswer(Done):
    session_key: str


class ResetAnswer(KeyAnswer):
    session_id: str | None
    previous_session_id: str | None


class Sum(Shape):
    name: str
    calls: int
    failed: int
    total: int
    cost: float
    milliseconds: int


class UsageAnswer(Done):
    by: str
    days: int
    usage: list[Sum]
    total: Sum


class StatusAnswer(Done):
    at: int
    configuration: Json | None
    workers: list[Json]
    lanes: list[Json]
    leases: list[Json]
    places: list[Json]
    totals: dict[str, int]
    unsafe_settings: dict[str, str]
    ingress: Json


class MeAnswer(Done):
    token_id: str | None
    scope: Scope
    agent: str | None
    person: str | None
    authority: str


class CommandHelp(Shape):
    name: str
    aliases: list[str]
    usage: str
    summary: str
    details: str
    authority: str
    when: str


class CommandsAnswer(Done):
    commands: list[CommandHelp]


class TokenFields(Shape):
    id: str
    name: str
    scope: Scope
    agent: str | None
    person: str | None
    created_at: int
    used_at: int | None


class TokensAnswer(Done):
    tokens: list[TokenFields]


class NewTokenAnswer(TokenFields):
    ok: bool
    token: str
    """The secret. It cannot be read again."""


class IdAnswer(Done):
    id: str


class LinkAnswer(Done):
    url: str
    seconds: int


class PromptAnswer(Done):
    agent_id: str
    model: str
    window: int
    parts: list[Json]


class AgentsAnswer(Done):
    agents: list[Json]


class CleanupAnswer(Done):
    dry_run: bool
    sessions: list[Json]


class MachineAnswer(Done):
    state_dir: str
    free_bytes: int
    clock_ahead_ms: int
    """How far its clock is ahead of that of Redis."""
