"""Where an agent's files are, and which hosts may run its turns."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from openclaw_workers.config.base import Section, UserPath


class WorkspaceSettings(Section):
    path: UserPath | None = None
    """Directory of the agent's files. Unset: <state>/workspace for the default agent, else <state>/workspace-<id>."""

    place: Literal["one", "any"] = "one"
    """Which hosts run its turns. one: those that see its workspace; any: all hosts, each with its own files."""


WorkspaceField = Annotated[
    WorkspaceSettings,
    BeforeValidator(
        lambda value: {"path": value} if isinstance(value, str) else value,
        json_schema_input_type=str | WorkspaceSettings,
    ),
]
