"""What a webhook asks for, whether its body says so or a mapping makes it of a payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from ingress.errors import HttpError
from ingress.webhooks.templates import Payload, has_fields, render_key, render_text, whole
from openclaw_workers.config.base import WEEK_SECONDS, Thinking
from openclaw_workers.config.webhooks import HookMappingSettings, WakeMode
from openclaw_workers.domain.untrusted import wrap

MOST_KEY_CHARS = 256
LAST = "last"
"""The chat where the agent's main session was spoken to last."""

INTRODUCTION = "A webhook was called. What it sent is between the markers."
"""What the agent reads before a message from outside."""

_Id = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value), Field(max_length=500)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Body(BaseModel):
    """A field that is not known is refused: a typing error would otherwise change what happens."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class WakeBody(_Body):
    """POST /hooks/wake."""

    text: str = Field(min_length=1, max_length=100_000)
    mode: WakeMode = "now"
    agent_id: _Name | None = None
    session_key: _Name | None = None
    idempotency_key: str | None = Field(default=None, max_length=MOST_KEY_CHARS)


class AgentBody(_Body):
    """POST /hooks/agent."""

    message: str = Field(min_length=1)
    name: _Name = "hook"
    agent_id: _Name | None = None
    session_key: _Name | None = None
    session_mode: Literal["isolated", "persistent"] | None = None
    idempotency_key: str | None = Field(default=None, max_length=MOST_KEY_CHARS)
    wake_mode: Literal["now"] = "now"
    deliver: bool = True
    channel: _Name = LAST
    to: _Id | None = None
    account_id: _Id | None = None
    model: _Name | None = None
    thinking: Thinking | None = None
    timeout_seconds: int | None = Field(default=None, ge=1, le=WEEK_SECONDS)

    @model_validator(mode="after")
    def _has_whole_route(self) -> Self:
        if (self.to is None) is not (self.channel == LAST):
            raise ValueError("expected channel and to together, or neither")
        return self


@dataclass(frozen=True, slots=True)
class WantedSession:
    agent_id: str | None
    key: str | None = None
    named_by: Literal["owner", "template", "request"] = "owner"
    """Who chose the key: the configuration alone, fields of the payload too, or the request."""
    mode: Literal["isolated", "persistent"] | None = None
    name: str = "hook"
    """Of the hook, for a persistent session of its own."""


@dataclass(frozen=True, slots=True)
class WakeCall:
    source: str
    text: str
    """Quoted where it comes from outside."""
    session: WantedSession
    mode: WakeMode


@dataclass(frozen=True, slots=True)
class AgentCall:
    source: str
    text: str
    """Quoted where it comes from outside."""
    session: WantedSession
    deliver: bool = True
    channel: str = LAST
    to: str | None = None
    account_id: str | None = None
    model: str | None = None
    thinking: str | None = None
    timeout_seconds: int | None = None


def wake_call(raw: Mapping[str, Any]) -> tuple[WakeCall, str | None]:
    """What a wake request asks for, and its idempotency key."""
    body = _valid(WakeBody, raw)
    source = "webhook wake"
    session = WantedSession(body.agent_id, body.session_key, "request")
    return WakeCall(source, wrap(body.text, source), session, body.mode), body.idempotency_key


def agent_call(raw: Mapping[str, Any]) -> tuple[AgentCall, str | None]:
    """What an agent request asks for, and its idempotency key."""
    body = _valid(AgentBody, raw)
    source = f"webhook {body.name}"
    session = WantedSession(body.agent_id, body.session_key, "request", body.session_mode, name=body.name)
    call = AgentCall(
        source,
        f"{INTRODUCTION}\n{wrap(body.message, source)}",
        session,
        deliver=body.deliver,
        channel=body.channel,
        to=body.to,
        account_id=body.account_id,
        model=body.model,
        thinking=body.thinking,
        timeout_seconds=body.timeout_seconds,
    )
    return call, body.idempotency_key


def mapped_call(mapping: HookMappingSettings, payload: Payload) -> WakeCall | AgentCall:
    """What a mapping makes of a payload.

    Raises:
        BadInput: a field that the session's name needs is missing.
    """
    name = mapping.name or payload.path
    source = f"webhook {name}"
    key = mapping.session_key
    named_by: Literal["owner", "template"] = "template" if key is not None and has_fields(key) else "owner"
    rendered = None if key is None else render_key(key, payload)
    session = WantedSession(mapping.agent_id, rendered, named_by, name=name)
    template = mapping.text_template if mapping.action == "wake" else mapping.message_template
    if template is None:
        text = whole(payload, source) if mapping.action == "wake" else f"{INTRODUCTION}\n{whole(payload, source)}"
    else:
        text = render_text(template, payload, source).strip()
    if mapping.action == "wake":
        return WakeCall(source, text, session, mapping.wake_mode)
    return AgentCall(
        source,
        text,
        session,
        deliver=mapping.deliver,
        channel=mapping.channel,
        to=mapping.to,
        account_id=mapping.account_id,
        model=mapping.model,
        thinking=mapping.thinking,
        timeout_seconds=mapping.timeout_seconds,
    )


def mapping_for(
    mappings: tuple[HookMappingSettings, ...], name: str, body: Mapping[str, Any]
) -> HookMappingSettings | None:
    """The first mapping that matches."""
    return next(
        (each for each in mappings if each.match.path == name and each.match.source in (None, body.get("source"))),
        None,
    )


def _valid(form: type[Any], raw: Mapping[str, Any]) -> Any:
    try:
        return form.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = f"{where}: {first['msg']}" if where else first["msg"]
        raise HttpError(400, message, hint="docs/webhooks.md lists the fields") from error
