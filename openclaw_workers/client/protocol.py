"""What a conversation asks of Redis, what it reports to its caller, and how to distinguish the two.

A conversation is a generator. It yields requests, which a reader answers, and updates, which the reader passes on.
If Redis fails, the reader raises the error in the generator, at the request.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from openclaw_workers.domain.events import Event, SessionState
from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionKey
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.errors import OpenClawError

T = TypeVar("T")


class Request(Generic[T]):
    """Asks for a value of type T."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ReadEvents(Request[list[Event]]):
    """Events after this id. The read waits up to `block_ms` for the first one."""

    session: SessionKey
    after: str
    block_ms: int


@dataclass(frozen=True, slots=True)
class ReadLastEventId(Request[str]):
    session: SessionKey


@dataclass(frozen=True, slots=True)
class ReadReceipt(Request[Receipt | None]):
    session: SessionKey
    message: MessageId


@dataclass(frozen=True, slots=True)
class ReadRun(Request[Run | None]):
    run: RunId


@dataclass(frozen=True, slots=True)
class ReadState(Request[SessionState]):
    session: SessionKey


@dataclass(frozen=True, slots=True)
class ReadWorkers(Request[list[WorkerInfo]]):
    """Every worker that is known."""


@dataclass(frozen=True, slots=True)
class ReadChildren(Request[list[Run]]):
    """The runs that a session has spawned."""

    session: SessionKey


@dataclass(frozen=True, slots=True)
class ReadOpenBatches(Request[list[BatchId]]):
    """The batches of a session that are not announced yet."""

    session: SessionKey


@dataclass(frozen=True, slots=True)
class ReadBatches(Request[dict[BatchId, Batch]]):
    ids: frozenset[BatchId]


@dataclass(frozen=True, slots=True)
class Sleep(Request[None]):
    seconds: float


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person should know while waiting."""

    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Events were missed: the text streamed so far may lack a piece."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing more to report now. The caller may do something else before it goes on."""


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """The updates that follow belong to another turn: one that reads the results of sub-agents."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn of the session that is followed; the updates that follow belong to it."""

    run: RunId
    record: Run | None
    is_own: bool
    """It answers a message that was sent from here."""
    is_attached: bool
    """It ran or waited already when the session was first looked at."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome. `receipt` is None if a run was followed, `run` is None if no run took the message."""

    run: Run | None
    receipt: Receipt | None


Update: TypeAlias = Event | Note | Gap | Quiet | ReplyStarted | TurnStarted | Ended
Steps: TypeAlias = Generator[Request[Any] | Update, Any, T]


def ask(request: Request[T]) -> Steps[T]:
    """Yield a request and return its answer."""
    answer: T = yield request
    return answer


class Stepper(Generic[T]):
    """Advances a generator of steps, for the readers that carry them out."""

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps
        self.result: T | None = None
        """What the generator returned, once there is no next step."""

    def advance(self, answer: object = None) -> Request[Any] | Update | None:
        """Pass on the answer to the last step and return the next one; None at the end."""
        try:
            return self._steps.send(answer)
        except StopIteration as end:
            self.result = end.value
            return None

    def fail(self, error: OpenClawError) -> Request[Any] | Update | None:
        """Raise an error at the last request; the conversation handles it, or lets it through to the caller."""
        try:
            return self._steps.throw(error)
        except StopIteration as end:
            self.result = end.value
            return None
