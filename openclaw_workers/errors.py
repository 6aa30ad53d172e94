"""Every error this project raises on purpose, sorted by what the caller should do about it.

    OpenClawError
    ├── ConfigurationError     at start-up: list every problem, exit with code 3
    ├── BadInput               the caller must change the request
    │   └── NotFound
    ├── AccessDenied           the token is missing, wrong, or not enough
    ├── TransientError         retry later
    │   └── StoreUnavailable
    │       └── StoreFull      delete sessions or raise the memory limit
    ├── ConflictError          another process owns this: stop without an alarm
    │   └── LeaseLost
    ├── CorruptRecord          quarantine the unreadable record and continue without it
    ├── NewerRecord            leave the record to newer code, and say so
    ├── TurnEnded              end the turn and record the reason
    │   ├── TurnAborted        a person or an interrupting message stopped it
    │   ├── TurnTimedOut       it passed its deadline
    │   ├── TurnParked         it waits for an answer of another session or of people
    │   ├── TurnYielded        the model ended it early to wait for sub-agents
    │   ├── BudgetExhausted    a budget is used up
    │   └── TurnHandedOver     this worker is shutting down; another one continues the turn
    ├── ProviderError          a model call failed; `reason` says how
    └── ToolError              show it to the model, which can try something else
        ├── ToolInputInvalid
        └── ToolTimedOut

An error can carry a `hint`: the next command to type or setting to change.
"""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus


def _encodable(text: str) -> str:
    """Error texts are stored. A server that cuts its message short may cut an emoji in half, which UTF-8 cannot encode.

    `domain.encoding` does the same for other texts; it is not imported, because `domain` imports this module.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


class OpenClawError(Exception):
    """Base class of all errors raised on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        message = _encodable(message)
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigurationError(OpenClawError):
    """The configuration is not valid; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: list[str], *, source: str | None = None, hint: str | None = None) -> None:
        self.problems = problems
        self.source = source
        where = f" in {source}" if source else ""
        count = len(problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the configuration{where}:"
        super().__init__("\n".join([head, *(f"  - {problem}" for problem in problems)]), hint=hint)


class BadInput(OpenClawError):
    """The request is not valid; the caller must change it."""


class NotFound(BadInput):
    """The session, run or agent does not exist."""


class AccessDenied(OpenClawError):
    """The HTTP API does not accept the token, or the token may not do this."""


class TransientError(OpenClawError):
    """The same request may succeed later."""


class StoreUnavailable(TransientError):
    """Redis did not answer in time or cannot be reached."""


class StoreRefused(StoreUnavailable):
    """Redis answered that it does not do this now, so that nothing was stored."""


class StoreFull(StoreRefused):
    """Redis has no memory left for new work. Work in progress continues."""

    def __init__(self, percent: int | None = None) -> None:
        how = "full" if percent is None else f"nearly full ({percent} % of its maxmemory)"
        super().__init__(
            f"Redis is {how} and cannot take new work",
            hint="delete sessions (`ocw sessions list`, `ocw sessions delete KEY`), or raise maxmemory",
        )


class ConflictError(OpenClawError):
    """Another process owns what this one wanted to change."""


class LeaseLost(ConflictError):
    """Another worker took over the session; the store rejects this worker's writes."""


class CorruptRecord(OpenClawError):
    """A stored record cannot be read. `where` names the record; `why` names the field and the fault."""

    def __init__(self, where: str, why: str, *, hint: str | None = None) -> None:
        super().__init__(f"{where} cannot be read: {why}", hint=hint)
        self.where = where
        self.why = why


class NewerRecord(OpenClawError):
    """A stored record is in a form that only a newer version knows. It is not damaged."""

    def __init__(self, where: str, form: int, known: int) -> None:
        problem = f"{where} was written by a newer version: its form is {form}, and this version reads up to {known}"
        super().__init__(problem, hint="update OpenClaw Workers on this host")


class TurnEnded(OpenClawError):
    """The turn stops now; the subclass says why."""


class TurnAborted(TurnEnded):
    """A person or a message in interrupt mode stopped the turn."""


class TurnTimedOut(TurnEnded):
    """The turn passed its deadline."""


class TurnParked(TurnEnded):
    """The turn waits for the answer of another session, or of people; it holds no worker while it waits."""

    def __init__(self, session: str, message_id: str, milliseconds: int, *, is_question: bool = False) -> None:
        super().__init__(f"waiting for an answer from {'people' if is_question else session}")
        self.session = session
        self.message_id = message_id
        self.milliseconds = milliseconds
        self.is_question = is_question


class TurnYielded(TurnEnded):
    """The model ended its turn to wait for sub-agents; the message is the tool's result."""


class BudgetExhausted(TurnEnded):
    """A budget is used up; the turn ends with a reply that says so."""


class TurnHandedOver(TurnEnded):
    """This worker is shutting down; another one continues the turn from its journal."""


class FailureReason(StrEnum):
    """Why a model call failed. `context_overflow` never leads to a fallback model: the history is compacted first."""

    BILLING = "billing"
    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    AUTH_PERMANENT = "auth_permanent"
    TIMEOUT = "timeout"
    FORMAT = "format"
    MODEL_NOT_FOUND = "model_not_found"
    SESSION_EXPIRED = "session_expired"
    UNKNOWN = "unknown"
    PRICE_UNKNOWN = "price_unknown"  # it is not called, because a budget in dollars could not limit it
    CONTEXT_OVERFLOW = "context_overflow"
    CUT = "cut"  # the stream ended before the answer was complete


_LATE = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT)
CONNECTION_FAILURES = {
    "connection_refused": "connection refused",
    "host_not_found": "host not found",
    "connection_failed": "no connection",
}
"""Our codes for calls that did not reach their server, and what people read."""


def describe_failure(reason: str, status: int | None = None, code: str | None = None) -> str:
    """What happened, for people. The reason only says what follows: `timeout` also holds for refused connections, hosts
    that are not found, and errors of the server."""
    if code in CONNECTION_FAILURES:
        return CONNECTION_FAILURES[code]
    if reason not in (FailureReason.TIMEOUT, FailureReason.UNKNOWN) or status in (None, *_LATE):
        return str(reason)
    return f"HTTP {status}"


def describe_cooldown(reason: str) -> str:
    """Why a key is in cooldown, for people: the details of the failure are no longer known."""
    return "unavailable" if reason == FailureReason.TIMEOUT else str(reason)


class ProviderError(OpenClawError):
    """A model call failed."""

    def __init__(
        self,
        message: str,
        *,
        reason: FailureReason,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
        self.status = status
        self.code = _encodable(code) if code else code
        """The provider's own error code, or ours where the answer was unusable."""
        self.retry_after = retry_after
        """How many seconds the provider asked us to wait."""
        self.request_id = request_id
        self.will_differ = False
        """The next request to this model will differ and may succeed: it asks for less or sends more context."""

    @property
    def description(self) -> str:
        """What happened, in a few words for people."""
        return describe_failure(self.reason, self.status, self.code)


class ToolError(OpenClawError):
    """A tool call failed; the model reads why and can try something else."""

    def __init__(self, message: str, *, output: str = "") -> None:
        super().__init__(message)
        self.output = output
        """Third-party output, such as what a program printed. The model reads it after the message, as untrusted."""


class ToolInputInvalid(ToolError):
    """The arguments do not match the tool's schema."""


class ToolTimedOut(ToolError):
    """The tool passed its time limit and was killed."""
