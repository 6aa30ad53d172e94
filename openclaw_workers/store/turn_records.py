"""What a worker and the scripts of a turn tell each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import Authority, MessageState
from openclaw_workers.domain.outgoing import ChatMessage, OutgoingKind
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.stored_json import to_json
from openclaw_workers.domain.transcript import TranscriptEntry

Granted = tuple[tuple[RunId, SessionKey], ...]
"""Runs and sessions that were granted a lane slot."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Proof of ownership: `fence:nonce`, checked for equality by every write."""

    session: SessionKey
    run: RunId
    lane: Lane
    token: str

    @property
    def fence(self) -> int:
        return int(self.token.partition(":")[0])


@dataclass(frozen=True, slots=True)
class ResetTimes:
    """When a session counts as stale: last used before the boundary, or idle for too long.

    Either is enough; 0 means that it never is for this reason.
    """

    daily_boundary_ms: int = 0
    idle_ms: int = 0


@dataclass(frozen=True, slots=True)
class KnownTranscript:
    """The beginning of a transcript that a worker has read before."""

    session_id: str = ""
    length: int = 0
    digest: str = ""
    """SHA-1 of its last entry as it is stored: entries carry their time and run, so no other has the same."""


@dataclass(frozen=True, slots=True)
class Taken:
    """All a worker needs to begin or continue a turn. Stored records are still raw JSON here."""

    lease: Lease
    step: int
    attempt: int
    suspect: bool
    resumed: bool
    started_call: str
    deadline_at: int
    now: int
    abort: str
    bound: list[str]
    log_length: int
    tail: list[str]
    row: dict[str, str]
    how: str = "taken"
    """As in domain.runs.Attempt."""
    dead: tuple[int, ...] = ()
    """Earlier owners, by their fence, that may have died during a model call which is not recorded yet."""
    steering_waits: bool = False
    """Whether messages may wait that were sent into this turn while it had another owner, or none."""
    known_holds: bool = False
    """Whether the transcript still begins with what the caller said it knows."""
    authority: Authority = Authority.ANYONE
    """The authority of who asked for the turn: the sender of the first message it answers."""


def authority_of(bound: Sequence[str]) -> Authority:
    """The authority of the first of these messages; the lowest if it says none or cannot be read."""
    try:
        # Only of the first one: messages are collected only from senders with the same authority.
        return Authority(json.loads(bound[0])["authority"])
    except (IndexError, KeyError, TypeError, ValueError):
        return Authority.ANYONE


@dataclass(frozen=True, slots=True)
class NotTaken:
    """`why` is gone, idle, stale, held, parked, early, lane, suspect, unplaced, elsewhere or newer (than this code)."""

    why: str
    granted: Granted = ()
    """Lane slots that this freed."""
    place: str = ""
    """Where the files of the agent are, if it is elsewhere."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ends."""

    state: RunState
    reason: str
    messages: MessageState
    text: str = ""
    error: str = ""
    model: str = ""
    worked: float = 0.0
    """Seconds that tools took since the last step."""
    context_tokens: int = 0
    entries: Sequence[TranscriptEntry] = ()
    reset: bool = False
    row: dict[str, str] = field(default_factory=dict)
    partial: str = ""
    """What there was of a result when it failed."""
    kind: OutgoingKind = OutgoingKind.REPLY
    """What the text is to a chat. This and the next two are for messages to chats; the script does not need them."""
    is_command: bool = False
    """The text answers a command, which the send policy never holds back."""
    notices: tuple[ChatMessage, ...] = ()
    """Notices to chats, sent before the text."""

    def as_json(self) -> str:
        return to_json({name: getattr(self, name) for name in self.__slots__ if name not in NOT_FOR_SCRIPT})


NOT_FOR_SCRIPT = frozenset({"entries", "kind", "is_command", "notices"})


@dataclass(frozen=True, slots=True)
class Committed:
    next_run: RunId | None
    delay_ms: int
    granted: Granted
    how: Literal["ended", "unsettled", "settled", "again", "parked"]
    """A child's run is `settled` when all it spawned is over too; `again` and `parked` go on."""
    answered: tuple[SessionKey, ...]
    """Sessions whose runs waited for this answer, or that will receive it."""


@dataclass(frozen=True, slots=True)
class WaitFor:
    """What a parked run waits for: the answer to a message that it sent to another session, or to a question."""

    session: SessionKey
    message: MessageId
    milliseconds: int
    is_question: bool = False
    """It asked people: `session` is its own, and `message` the question's id."""


@dataclass(frozen=True, slots=True)
class TurnRules:
    """The settings the scripts need; one value per process."""

    lease_ms: int
    rewake_ms: int
    grant_ms: int
    tail: int = 200
