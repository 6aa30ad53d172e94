"""What endpoints about runs, trees and sub-agents answer, for the OpenAPI document (fields: docs/cli.md)."""

from __future__ import annotations

from pydantic import Field

from ingress.api.models.answers import Done, Failure, Json, Shape, Tokens
from openclaw_workers.domain.runs import Lane, RunState


class Owner(Shape):
    worker: str
    at: int
    how: str


class Span(Shape):
    since: int = Field(alias="from")
    to: int | None


class Run(Shape):
    run_id: str
    session_key: str
    session_id: str | None
    agent_id: str
    lane: Lane
    kind: str
    parent_run_id: str | None
    label: str | None
    depth: int
    batch: str | None
    settled_at: int | None
    state: RunState
    reason: str | None
    attempt: int
    attempts: list[Owner]
    parked: list[Span]
    waits_for: str | None
    """Where the files of its agent are, if no worker takes turns there; null otherwise."""
    covers: list[str]
    model: str | None
    model_attempts: list[Json]
    fallback_from: str | None
    queued_at: int
    started_at: int | None
    ended_at: int | None
    deadline_at: int | None
    usage: Tokens
    cost: float
    text: str | None
    error: str | None


class RunsAnswer(Done):
    runs: list[Run]
    unreadable: int


class RunAnswer(Run):
    ok: bool
    delivery: Json | None
    children: list[str]
    session_state: str
    journal_problem: Failure | None
    partial: str | None
    journal: list[Json]


class JournalAnswer(Done):
    run_id: str
    journal: list[Json]


class StopAnswer(Done):
    run_id: str
    session_key: str
    state: RunState
    cancelled_messages: int
    stopped_subagents: int


class Node(Shape):
    run_id: str
    session_key: str
    label: str | None
    kind: str
    state: RunState
    outcome: str | None
    settled: bool
    delivery: str | None
    lane: Lane
    host: str | None
    depth: int
    attempts: list[Owner]
    parked: list[Span]
    queued_at: int
    started_at: int | None
    ended_at: int | None
    tokens: int
    cost: float
    subtree_tokens: int
    subtree_cost: float
    budget: Json | None
    error: str | None
    children: list[Node]


class TreesAnswer(Done):
    trees: list[Node]
    unreadable: int


class Subagent(Shape):
    number: int | None
    run_id: str
    child_session_key: str
    label: str | None
    task: str
    state: RunState
    outcome: str | None
    ended_reason: str | None
    created_at: int
    ended_at: int | None
    cost: float
    delivery: Json | None


class SubagentsAnswer(Done):
    subagents: list[Subagent]


class SubagentAnswer(Subagent):
    ok: bool
    thread_id: str | None


class SubagentStopAnswer(Done):
    run_id: str
    child_session_key: str
    runs: dict[str, RunState]
