"""Webhooks: other programs start turns or tell a session that something happened."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import (
    WEEK_SECONDS,
    AgentId,
    Bytes,
    ModelRef,
    Names,
    PeerId,
    Secret,
    Section,
    Thinking,
)

MOST_BODY_BYTES = 900_000
"""A message holds no more."""
BUILT_IN = ("wake", "agent")
"""Names that are no mapping's."""

HookName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$")]
WakeMode = Literal["now", "next-heartbeat"]
HookToken = Annotated[Secret, Field(min_length=16)]


def _check_path(value: str) -> str:
    path = "/" + value.strip().strip("/")
    if not re.fullmatch(r"(/[A-Za-z0-9._-]+)+", path) or path.split("/")[1] in ("api", "v1", "auth"):
        raise ValueError("expected a path such as /hooks, below none of /api, /v1 and /auth")
    return path


HookPath = Annotated[str, AfterValidator(_check_path)]


class HookMatchSettings(Section):
    path: HookName
    """Name in the address: github for /hooks/github."""

    source: str | None = None
    """Only payloads whose field `source` has this value."""


class HookMappingSettings(Section):
    match: HookMatchSettings
    """Which requests it is for; the first mapping that matches is used."""

    action: Literal["wake", "agent"] = "agent"
    """wake tells a session that something happened; agent starts a turn with the message."""

    name: str | None = None
    """The sender that the agent sees; unset: the name in the URL."""

    message_template: str | None = None
    """Message of action agent, with {{field.path}} for fields of the payload; unset: the whole payload."""

    text_template: str | None = None
    """Event of action wake, with {{field.path}} for fields of the payload; unset: the whole payload."""

    wake_mode: WakeMode = "now"
    """Of action wake: start a turn now, or leave the event to the session's next turn."""

    agent_id: AgentId | None = None
    """The agent; unset: the default agent."""

    session_key: str | None = None
    """The session, with {{field.path}}; one with fields must begin with one of allowedSessionKeyPrefixes."""

    deliver: StrictBool = True
    """Of action agent: whether the answer is sent to a chat."""

    channel: str = "last"
    """The channel of that chat; last is where the agent's main session last got a message."""

    to: PeerId | None = None
    """The chat; not with last."""

    account_id: PeerId | None = None
    """The account of the channel."""

    model: ModelRef | None = None
    """Model of the turn."""

    thinking: Thinking | None = None
    """Thinking level of the turn."""

    timeout_seconds: StrictInt | None = Field(default=None, ge=1, le=WEEK_SECONDS)
    """Longest time for the turn."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.match.path in BUILT_IN:
            raise ValueError(f"expected another match.path; {', '.join(BUILT_IN)} are built in")
        if (self.to is None) is not (self.channel == "last"):
            raise ValueError("expected channel and to together, or neither")
        return self


class HooksSettings(Section):
    enabled: StrictBool = False
    """Whether webhooks are served."""

    token: HookToken | None = None
    """Token that senders give as `Authorization: Bearer` or `x-openclaw-token`, 16 characters or more."""

    path: HookPath = "/hooks"
    """Where they are served."""

    max_body: Bytes = Field(default=256 << 10, ge=1, le=MOST_BODY_BYTES)
    """Largest body of a request."""

    mappings: tuple[HookMappingSettings, ...] = ()
    """What requests to /hooks/<name> do."""

    allowed_agent_ids: Names | None = None
    """Agents that a request may name; * for all, unset for all."""

    default_session_key: str | None = None
    """Session of turns that name none; unset: a new one for each, hook:<id>."""

    allow_request_session_key: StrictBool = False
    """Whether a request may name its session."""

    allowed_session_key_prefixes: Names = ()
    """What a session that a request names must begin with, such as hook: (with or without agent:<id>:); unset: any."""

    @model_validator(mode="after")
    def _has_token(self) -> Self:
        if self.enabled and self.token is None:
            raise ValueError("expected hooks.token, because hooks.enabled is true")
        return self
