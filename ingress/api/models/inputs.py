"""What endpoints take."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field, StringConstraints

from ingress.api.table import Input
from openclaw_workers.config.base import WEEK_SECONDS
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.outgoing import OutgoingState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.llm.ledger import KEPT_DAYS

MOST_LISTED = 1000
MOST_WAIT_SECONDS = 3600

Name = Annotated[str, StringConstraints(max_length=1024)]
Limit = Annotated[int, Field(ge=1, le=MOST_LISTED)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class AttachmentInput(Input):
    name: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    """File name; only its last part counts."""
    data: str
    """The content in base64."""
    media_type: Annotated[str, StringConstraints(max_length=100)] = ""
    """Gives a file without an extension one."""


class SendInput(Input):
    text: str = Field(validation_alias=AliasChoices("text", "message"))
    """The message, or a /command; also accepted as `message`."""
    session_key: Name = Field(default="", validation_alias=AliasChoices("sessionKey", "session"))
    """The session, such as notes or agent:main:main; default: the one for whoever holds the token."""
    agent_id: Name = ""
    """The agent; default: the default agent."""
    thread_id: Name = ""
    """The thread that the message is said in."""
    model: Name | None = None
    """Model for this turn only."""
    thinking: Name | None = None
    """Thinking level for this turn only."""
    system: str | None = None
    """Added to the system prompt, for this turn only; needs the authority of an owner."""
    context_tokens: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """Largest context for this turn."""
    run_timeout_seconds: Annotated[int, Field(ge=1, le=WEEK_SECONDS)] | None = None
    """Longest time for this turn."""
    mode: QueueMode | None = None
    """How a busy session treats this message."""
    attachments: tuple[AttachmentInput, ...] = ()
    idempotency_key: Key | None = None
    """A repeat with the same key makes no second turn; also accepted as the header Idempotency-Key."""
    wait: Literal["none", "reply", "tree"] = "none"
    """Answer when the message is stored, when it is answered, or when its sub-agents have been answered too."""
    timeout_seconds: Annotated[float, Field(gt=0, le=MOST_WAIT_SECONDS)] = 600.0
    """How long to wait; the run continues after that."""


class TextInput(Input):
    text: str = Field(validation_alias=AliasChoices("text", "message"))
    idempotency_key: Key | None = None


class RepeatInput(Input):
    idempotency_key: Key | None = None


class SessionsQuery(Input):
    limit: Limit = 50
    agent_id: Name | None = None
    """Only sessions of this agent."""
    label: Name | None = None
    """Only sessions with this label."""
    key: Name | None = None
    """Only sessions whose key contains this text."""
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    """Leave out as many first."""


class SessionTreesQuery(Input):
    key: Name | None = None
    """Only this session, and those below it."""


class ResolveQuery(Input):
    key: Name | None = None
    """A whole or short key."""
    label: Name | None = None


class HistoryQuery(Input):
    limit: Limit = 200
    before: Annotated[int, Field(ge=0, le=10**9)] | None = None
    """Entries before this position; `first` of an answer is the position of its first entry."""


class EventsQuery(Input):
    after: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}(-[0-9]{1,15})?$")] | None = None
    """Events after this id; the header Last-Event-ID goes first. Without both: from now on."""


class SessionPatch(Input):
    """Null clears a field, so that the default holds again."""

    label: Annotated[str, StringConstraints(max_length=200)] | None = None
    model: Name | None = None
    thinking_level: Name | None = None
    reasoning_level: Name | None = None
    verbose_level: Name | None = None
    response_usage: Name | None = None
    send_policy: Literal["allow", "deny"] | None = None
    """Whether replies are sent to the chat; needs the authority of an owner."""
    group_activation: Literal["mention", "always"] | None = None
    auth_profile: Name | None = None
    """The key profile of the model's provider; needs the authority of an owner."""


class RunsQuery(Input):
    limit: Limit = 20
    session_key: Name | None = None
    state: RunState | None = None


class LimitQuery(Input):
    limit: Limit = 20


class TreesQuery(LimitQuery):
    session_key: Name | None = None
    """Only trees that this session began."""


class SubagentsQuery(Input):
    limit: Limit = 50
    session_key: Name | None = None
    """Only those below this session."""
    live: bool = False
    """Only those that are active, or whose result is not delivered."""


class OutboxQuery(Input):
    limit: Limit = 50
    state: OutgoingState | None = None
    all: bool = False
    """Also those that were sent or dropped in the last 24 hours."""


class ChannelTestInput(Input):
    account: Name = "telegram"
    """Such as telegram, or telegram/work for another account than the default one."""
    to: Name | None = None
    """Also send a message to this chat, and wait until it is sent."""


class TokenInput(Input):
    scope: Scope = Scope.CHAT
    name: Annotated[str, StringConstraints(max_length=200)] = ""
    """What it is for; shown in the list."""
    agent: Name | None = None
    """It sees and reaches this agent only."""
    person: Name | None = None
    """Its messages have the authority of this person, such as telegram:123456789."""


class UsageQuery(Input):
    by: Literal["agent", "session", "model", "day", "tree", "peer", "channel"] = "model"
    days: Annotated[int, Field(ge=1, le=KEPT_DAYS)] = 7


class CleanupInput(Input):
    dry_run: bool = False
    """Only tell what would be done."""
