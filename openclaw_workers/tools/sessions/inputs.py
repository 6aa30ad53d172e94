"""The arguments of the session tools, under their OpenClaw and MiniClaw names."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, StrictBool, model_validator

from openclaw_workers.tools.input import NonBlankText, ToolInput

MAX_SESSIONS = 200
MAX_MESSAGES = 20
MAX_HISTORY = 500
MAX_FOUND = 50
MAX_WAIT_SECONDS = 3_600


class ListInput(ToolInput):
    kinds: list[Literal["main", "group", "cron", "hook", "node", "other"]] = Field(default_factory=list)
    """Only these sorts of session; sub-agents and named sessions are `other`."""

    limit: Annotated[int, Field(ge=1, le=MAX_SESSIONS)] = 50
    """How many, most recently used first."""

    active_minutes: Annotated[int | None, Field(ge=1, alias="activeMinutes")] = None
    """Only those used within so many minutes."""

    message_limit: Annotated[int, Field(ge=0, le=MAX_MESSAGES, alias="messageLimit")] = 0
    """How many of the last messages to show of each."""


class HistoryInput(ToolInput):
    session_key: Annotated[str, Field(min_length=1, alias="sessionKey")]
    """The session, as sessions_list names it."""

    limit: Annotated[int, Field(ge=1, le=MAX_HISTORY)] = 50
    """How many of the last messages."""

    include_tools: Annotated[StrictBool, Field(alias="includeTools")] = False
    """Also tool calls and their results."""


class SessionsSearchInput(ToolInput):
    query: Annotated[NonBlankText, Field(max_length=1_000)]
    """What to look for. Quoted words, or words joined by AND, must all appear."""

    session_key: Annotated[str | None, Field(alias="sessionKey")] = None
    """Only in this session, as sessions_list names it."""

    limit: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 6
    """How many results, best first."""


class StatusInput(ToolInput):
    session_key: Annotated[str, Field(alias="sessionKey")] = "current"
    """The session; `current` is this one."""

    model: str | None = None
    """Set the session's model from its next turn on; `default` takes the setting back."""


class SendInput(ToolInput):
    session_key: Annotated[str | None, Field(alias="sessionKey")] = None
    """The session to write to, as sessions_list names it."""

    label: str | None = None
    """Its label, instead of its key."""

    agent_id: Annotated[str | None, Field(alias="agentId")] = None
    """With label: look among this agent's sessions. Alone: write to this agent's main session."""

    message: Annotated[NonBlankText, Field(validation_alias=AliasChoices("message", "content", "text"))]
    """What to say."""

    timeout_seconds: Annotated[int, Field(ge=0, le=MAX_WAIT_SECONDS, alias="timeoutSeconds")] = 30
    """How long to wait for the answer; 0 does not wait."""

    @model_validator(mode="after")
    def _names_one_session(self) -> Self:
        if self.session_key is not None and (self.label is not None or self.agent_id is not None):
            raise ValueError("expected sessionKey alone, or label and agentId")
        if self.session_key is None and self.label is None and self.agent_id is None:
            raise ValueError("expected sessionKey, label or agentId")
        return self


class YieldInput(ToolInput):
    message: str = ""
    """What to tell whoever watches, meanwhile."""


def _action(value: object) -> object:
    return "stop" if value in ("kill", "cancel") else value


class SubagentsInput(ToolInput):
    action: Annotated[Literal["list", "info", "log", "send", "steer", "stop"], BeforeValidator(_action)] = "list"
    """list: all of yours. info: everything about one. log: what it said. send: a message for it to answer next.
    steer: a message into what it is doing now. stop: end it and all it started.
    """

    target: Annotated[
        str | None, Field(validation_alias=AliasChoices("target", "id", "runId", "subRunId", "sessionKey", "label"))
    ] = None
    """Which: its run id, session key, label, its number as list shows it (#1), last; for stop also all."""

    message: Annotated[str | None, Field(validation_alias=AliasChoices("message", "content", "text"))] = None
    """What to say, for send and steer."""

    limit: Annotated[int, Field(ge=1, le=MAX_HISTORY)] = 50
    """How many entries, for log and list."""

    include_tools: Annotated[StrictBool, Field(alias="includeTools")] = False
    """Also tool calls and their results, for log."""

    @model_validator(mode="after")
    def _says_what_it_needs(self) -> Self:
        if self.action != "list" and not self.target:
            raise ValueError(f"{self.action} expects target")
        if self.action in ("send", "steer") and not (self.message or "").strip():
            raise ValueError(f"{self.action} expects message")
        return self
