"""The session row: everything known about a session besides its transcript.

It is a Redis hash with one field per attribute, under its camelCase name, so that a script can read or increment a
single field. Scalars are plain strings and compound values are JSON. An unset attribute has no field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.ids import RunId, SessionId, SessionKey
from openclaw_workers.domain.messages import Authority, DropPolicy, QueueMode
from openclaw_workers.domain.session_key import ChatType
from openclaw_workers.domain.stored_json import check_form
from openclaw_workers.errors import CorruptRecord


class SessionKind(StrEnum):
    MAIN = "main"
    SUBAGENT = "subagent"


class _Stored(BaseModel):
    # During a rolling deploy a newer version may have written the row: ignore unknown fields.
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", defer_build=True)


class DeliveryContext(_Stored):
    """Where the session's replies go."""

    channel: str
    to: str = ""
    account_id: str = ""
    thread_id: str = ""


class SessionOrigin(_Stored):
    """Where the session came from, as described by its channel."""

    label: str | None = None
    provider: str | None = None
    surface: str | None = None
    chat_type: str | None = None
    sender: str | None = Field(default=None, alias="from")
    to: str | None = None
    account_id: str | None = None
    thread_id: str | None = None


class SkillRef(_Stored):
    name: str
    primary_env: str | None = None


class SkillsSnapshot(_Stored):
    """The skills that the session's last run used."""

    prompt: str
    skills: list[SkillRef] = Field(default_factory=list)
    resolved_skills: list[dict[str, Any]] | None = None
    version: int | None = None


class SessionEntry(_Stored):
    """One session. All times are epoch milliseconds."""

    # identity
    session_id: SessionId
    session_key: SessionKey
    agent_id: str
    created_at: NonNegativeInt
    updated_at: NonNegativeInt
    session_started_at: NonNegativeInt
    """When this sessionId began; the session key has existed since createdAt."""
    last_interaction_at: NonNegativeInt | None = None
    """The last turn started by a person or channel; heartbeat and cron turns do not postpone a reset."""

    # kind
    session_kind: SessionKind = SessionKind.MAIN
    chat_type: ChatType | None = None

    # lineage
    spawned_by: SessionKey | None = None
    parent_session_id: SessionId | None = None
    created_by_run_id: RunId | None = None
    spawn_depth: NonNegativeInt = 0
    spawned_workspace_dir: str | None = None
    forked_from_parent: bool = False
    spawned_with_files: bool = False
    """Files came with its task; they are removed from its workspace when it is deleted."""
    subagent_role: Literal["orchestrator", "leaf"] | None = None
    subagent_control_scope: Literal["children", "none"] | None = None
    root_session_key: SessionKey | None = None
    max_spawn_depth: PositiveInt | None = None
    """This and the next: the limits of its tree, inherited when it was spawned."""
    max_tree_runs: PositiveInt | None = None
    spawn_authority: Authority | None = None
    """The authority of the turn that spawned it; its own turns never have more."""
    tool_group: str | None = None
    """The group whose tool policy it inherited: channel, account and chat id."""
    archive_after_ms: NonNegativeInt | None = None
    """How long a child is kept after its last use, once its result is delivered; for a transient session likewise."""
    transient: bool = False
    """It is deleted without an archive: its client keeps the conversation, and sends all of it each time."""

    # overrides: if unset, the configuration applies
    thinking_level: str | None = None
    verbose_level: str | None = None
    reasoning_level: str | None = None
    elevated_level: str | None = None
    provider_override: str | None = None
    model_override: str | None = None
    auth_profile_override: str | None = None
    """The key that served it last, as provider/profile: the next turn prefers it."""
    auth_profile_pin: str | None = None
    """The only key that a person lets it use for that provider, as provider/profile."""
    send_policy: Literal["allow", "deny"] | None = None
    group_activation: Literal["mention", "always"] | None = None
    queue_mode: QueueMode | None = None
    queue_debounce_ms: NonNegativeInt | None = None
    queue_cap: PositiveInt | None = None
    queue_drop: DropPolicy | None = None
    response_usage: Literal["on", "off", "tokens", "full"] | None = None
    context_tokens_override: PositiveInt | None = None

    # counters of this sessionId
    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    total_tokens: NonNegativeInt = 0
    cache_read: NonNegativeInt = 0
    cache_write: NonNegativeInt = 0
    context_tokens: NonNegativeInt = 0
    compaction_count: NonNegativeInt = 0
    turns: NonNegativeInt = 0

    # metadata
    label: str | None = None
    display_name: str | None = None
    channel: str | None = None
    subject: str | None = None
    group_channel: str | None = None
    origin: SessionOrigin | None = None

    # routing
    delivery_context: DeliveryContext | None = None
    last_channel: str | None = None
    last_to: str | None = None
    last_account_id: str | None = None
    last_thread_id: str | None = None
    last_capabilities: str | None = None
    """What that channel can do, separated by commas; the prompt lists it."""

    # heartbeat
    last_heartbeat_text: str | None = None
    last_heartbeat_sent_at: NonNegativeInt | None = None

    # snapshots
    skills_snapshot: SkillsSnapshot | None = None
    system_prompt_report: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _belongs_to_its_agent(self) -> Self:
        if not self.session_key.startswith(f"agent:{self.agent_id}:"):
            raise ValueError(f"sessionKey {self.session_key} is not a session of agentId {self.agent_id}")
        return self


_COMPOUND = frozenset(("origin", "deliveryContext", "skillsSnapshot", "systemPromptReport"))


def from_hash(raw: Mapping[str, str]) -> SessionEntry:
    """Parse a row.

    Raises:
        CorruptRecord: fields are missing or unreadable; the message names each of them.
        NewerRecord: newer code wrote it.
    """
    where = f"session {raw.get('sessionKey', 'without a key')}"
    check_form(raw.get("v"), where)
    values: dict[str, Any] = dict(raw)
    for name in _COMPOUND & raw.keys():
        try:
            values[name] = json.loads(raw[name])
        except (ValueError, RecursionError) as error:
            raise CorruptRecord(where, f"{name} is not JSON: {error}") from error
    try:
        return SessionEntry.model_validate(values)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, each['loc'])) or 'row'}: {each['msg']}" for each in error.errors())
        raise CorruptRecord(where, "; ".join(problems)) from error
