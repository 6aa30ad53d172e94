"""MCP servers, whose tools agents can use."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import WEEK_SECONDS, BaseUrl, Bytes, Secret, Section, UserPath

ServerName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=32)]
"""Part of the names of its tools, so without two underscores in a row."""


class McpServerSettings(Section):
    enabled: StrictBool = True
    """Whether workers use this server."""

    command: str | None = Field(default=None, min_length=1)
    """Program that workers start and talk to over stdin and stdout; not with url."""

    args: tuple[str, ...] = ()
    """Arguments of the program."""

    env: dict[str, Secret] = Field(default_factory=dict)
    """Environment of the program, besides PATH, HOME, locale and the like; it gets nothing else from the worker."""

    cwd: UserPath | None = None
    """Working directory of the program; unset: that of the worker."""

    url: BaseUrl | None = None
    """Address of a server that speaks streamable HTTP; not with command."""

    headers: dict[str, Secret] = Field(default_factory=dict)
    """HTTP headers for the server, such as Authorization."""

    start_timeout_seconds: StrictInt = Field(default=30, ge=1, le=600)
    """Seconds the server may take to start and list its tools."""

    timeout_seconds: StrictInt = Field(default=60, ge=1, le=WEEK_SECONDS)
    """Seconds one call may take, waiting for its turn included; never more than engine.toolTimeoutSeconds."""

    max_output: Bytes = Field(default=50 << 10, ge=1024, le=1 << 20)
    """Size of the text of an answer at most; the middle of a longer one is left out."""

    max_message: Bytes = Field(default=8 << 20, ge=1024, le=64 << 20)
    """Largest message of the server, images included; a server that sends more is restarted."""

    max_concurrent: StrictInt = Field(default=4, ge=1, le=100)
    """Calls of one worker process at a time; more wait."""

    max_tools: StrictInt = Field(default=100, ge=1, le=1000)
    """Tools of the server to use at most; the others are left out."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if (self.command is None) is (self.url is None):
            raise ValueError("expected either command or url")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise ValueError("expected args, env and cwd only with command")
        if self.command is not None and self.headers:
            raise ValueError("expected headers only with url")
        return self


class McpSettings(Section):
    servers: dict[ServerName, McpServerSettings] = Field(default_factory=dict)
    """Servers by name. The tool `t` of server `s` is called `s__t`."""

    start_wait_seconds: float = Field(default=5, ge=0, le=60)
    """Seconds a turn waits for servers that are starting; then it runs without their tools."""
