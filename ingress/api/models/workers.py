"""Orders and questions to workers, in requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from ingress.api.models.answers import Done, Json, Shape
from ingress.api.models.inputs import Name
from ingress.api.table import Input
from openclaw_workers.domain.messages import Authority


class WorkersInput(Input):
    name: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    """A host, or HOST/PID for one worker."""


class SandboxQuery(Input):
    session_key: Name = "main"
    """It need not exist yet."""


class ToolsQuery(SandboxQuery):
    authority: Authority = Authority.OWNER
    """Of who asks for the turn."""


class PruneInput(Input):
    all: bool = False
    """Also those that are used now and then, if no command runs."""


class MoveInput(Input):
    to: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    """The host that gets the files."""
    with_files: bool = True
    """False: begin with an empty workspace there."""


class MoveAnswer(Done):
    id: str
    agent_id: str
    to_host: str
    with_files: bool
    state: str
    files: int
    files_done: int
    bytes_done: int
    waits: str | None
    kept_at: str | None
    error: str | None


class DrainAnswer(Done):
    name: str
    kind: str
    drained: bool
    workers: list[str]
    lanes_without_workers: list[str]


class ToolReport(Done):
    session_key: str
    agent_id: str
    model: str
    authority: Authority
    sandboxed: bool
    warnings: list[str]


class ToolState(Shape):
    name: str
    allowed: bool
    removed_by: str | None
    reason: str | None
    setting: str | None


class ToolsAnswer(ToolReport):
    tools: list[ToolState]


class ToolAnswer(ToolReport):
    tool: ToolState


class SandboxAnswer(Done):
    session_key: str
    mode: str
    sandboxed: bool
    backend: str
    available: bool
    reason: str
    workspace: str


class SandboxesAnswer(Done):
    sandboxes: list[Json]


class PrunedAnswer(Done):
    deleted: list[str]
