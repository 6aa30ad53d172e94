"""The arguments of `sessions_spawn`, under their OpenClaw and MiniClaw names."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, StrictBool, StringConstraints, field_validator

from openclaw_workers.config.base import WEEK_SECONDS
from openclaw_workers.domain.tree import AnnounceMode, Cleanup, SpawnMode
from openclaw_workers.tools.input import NonBlankText, ToolInput

MAX_FILES = 50
MAX_FILE_BYTES = 1_000_000
MAX_TOTAL_BYTES = 5_000_000
MAX_NESTED = 20
MAX_EXACT = 2**53
"""Lua numbers are exact only up to this value."""


def _announce(value: object) -> object:
    if isinstance(value, bool):
        return AnnounceMode.BATCH if value else AnnounceMode.NONE
    return value


def _check_json(value: object, depth: int = 0) -> None:
    """Accept only values that Lua's cjson can read: finite numbers and limited nesting."""
    match value:
        case float() if not math.isfinite(value):
            raise ValueError(f"expected finite numbers, not {value}")
        case int() if abs(value) > MAX_EXACT:
            raise ValueError("expected numbers up to 2^53; write longer ones as text")
        case dict() | list() if depth == MAX_NESTED:
            raise ValueError(f"is nested more than {MAX_NESTED} deep")
        case dict():
            for each in value.values():
                _check_json(each, depth + 1)
        case list():
            for each in value:
                _check_json(each, depth + 1)


class Attachment(ToolInput):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    """File name; it is made safe for the child's workspace."""

    content: str
    """The file, base64 encoded."""

    @field_validator("content")
    @classmethod
    def _is_base64(cls, value: str) -> str:
        value = "".join(value.split())  # programs write it in lines
        try:
            size = len(base64.b64decode(value, validate=True))
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"expected base64: {error}") from error
        if size > MAX_FILE_BYTES:
            raise ValueError(f"has {size:,} bytes; a file may have {MAX_FILE_BYTES:,}")
        return value


class SpawnInput(ToolInput):
    task: Annotated[NonBlankText, Field(validation_alias=AliasChoices("task", "message"))]
    """What the sub-agent is to do. It sees nothing else of this conversation."""

    label: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """A short name for it."""

    runtime: Literal["subagent"] = "subagent"
    """How it runs."""

    agent_id: Annotated[str | None, Field(alias="agentId")] = None
    """Another agent to do it, where that is allowed; otherwise yourself."""

    model: str | None = None
    """Its model, as provider/model or an alias."""

    thinking: str | None = None
    """Its thinking level: off, minimal, low, medium, high or xhigh."""

    run_timeout_seconds: Annotated[
        int | None, Field(ge=0, le=WEEK_SECONDS, validation_alias=AliasChoices("runTimeoutSeconds", "timeoutSeconds"))
    ] = None
    """Seconds it may take, waiting for its own sub-agents included; 0 for no limit but that of every turn."""

    mode: SpawnMode | None = None
    """run: one task. session: it stays, bound to a thread."""

    thread: StrictBool = False
    """Bind it to a thread of its own, for mode session."""

    cleanup: Cleanup = Cleanup.KEEP
    """delete: its session goes once the result is delivered. keep: it is archived later."""

    announce: Annotated[AnnounceMode, BeforeValidator(_announce)] = AnnounceMode.BATCH
    """batch: one report when all sub-agents of this message are done. each: one per sub-agent. none: no report."""

    deliver: StrictBool = False
    """Show what it says while it works to those who watch this session."""

    context: Literal["isolated", "fork"] = "isolated"
    """isolated: it knows only its task. fork: it begins with this conversation."""

    workspace_dir: Annotated[str | None, Field(alias="workspaceDir")] = None
    """A directory to work in, inside your workspace."""

    wake_on_descendant_settle: Annotated[StrictBool, Field(alias="wakeOnDescendantSettle")] = True
    """Whether it gets another turn with the results of its own sub-agents before it reports."""

    attachments: Annotated[list[Attachment], Field(max_length=MAX_FILES)] = Field(default_factory=list)
    """Files for it to work with."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    """Kept with it, and reported with its result."""

    @field_validator("metadata")
    @classmethod
    def _is_plain(cls, value: dict[str, Any]) -> dict[str, Any]:
        _check_json(value)
        return value

    @field_validator("attachments")
    @classmethod
    def _bounded(cls, files: list[Attachment]) -> list[Attachment]:
        # Four characters of base64 are three bytes, so nothing needs to be decoded again.
        total = sum(len(file.content) * 3 // 4 for file in files)
        if total > MAX_TOTAL_BYTES:
            raise ValueError(f"have {total:,} bytes in all; at most {MAX_TOTAL_BYTES:,} are taken")
        return files
