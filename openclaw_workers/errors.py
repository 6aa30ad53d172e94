"""Every error this project raises on purpose, sorted by what the caller should do about it.

    OpenClawError
    ├── ConfigurationError     start-up only: all problems at once, exit code 3
    ├── BadInput               the person or program that called us must change something
    │   └── NotFound
    ├── TransientError         try again later
    │   └── StoreUnavailable
    │       └── StoreFull  deleting sessions helps
    ├── ConflictError          someone else holds the truth: step aside quietly
    │   └── LeaseLost
    ├── CorruptRecord          a stored record cannot be read: put it aside, go on without it
    ├── TurnEnded              the turn stops here, for a reason that is recorded
    │   ├── TurnAborted        a person or an interrupt stopped it
    │   ├── TurnTimedOut       it ran past its deadline
    │   ├── TurnParked         it waits for another session's answer
    │   ├── TurnYielded        it ends early, because its session waits for something
    │   ├── BudgetExhausted    nothing more may be spent
    │   └── TurnHandedOver     this worker is leaving; another one continues
    ├── ProviderError          a model call failed; `reason` says how
    └── ToolError              shown to the model, which may adapt
        ├── ToolInputInvalid
        └── ToolTimedOut

Each error can carry a `hint`: the next thing to type or to change.
"""

from __future__ import annotations

from enum import StrEnum

from openclaw_workers.domain.encoding import encodable


class OpenClawError(Exception):
    """Root of all errors raised on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        # Servers and programs say half an emoji where they cut a text, and what is said of an error is stored.
        message = encodable(message)
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigurationError(OpenClawError):
    """The configuration cannot be used; `problems` lists every reason."""

    def __init__(self, problems: list[str], *, source: str | None = None, hint: str | None = None) -> None:
        self.problems = problems
        self.source = source
        where = f" in {source}" if source else ""
        count = len(problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the configuration{where}:"
        super().__init__("\n".join([head, *(f"  - {problem}" for problem in problems)]), hint=hint)


class BadInput(OpenClawError):
    """What was asked for cannot be done as asked."""


class NotFound(BadInput):
    """No such session, run or agent."""


class TransientError(OpenClawError):
    """Trying again later may work."""


class StoreUnavailable(TransientError):
    """Redis did not answer in time, or is gone."""


class StoreFull(StoreUnavailable):
    """Redis has no memory left for new work. What is at work goes on."""

    def __init__(self, percent: int | None = None) -> None:
        how = "full" if percent is None else f"nearly full ({percent} % of its maxmemory)"
        super().__init__(
            f"Redis is {how} and cannot take new work",
            hint="delete sessions (`ocw sessions list`, `ocw sessions delete KEY`), or raise maxmemory",
        )


class ConflictError(OpenClawError):
    """Someone else holds the truth."""


class LeaseLost(ConflictError):
    """The session was taken over while this worker was away; its writes are refused."""


class CorruptRecord(OpenClawError):
    """A stored record cannot be read: `where` names the record, `why` the field and what is wrong with it."""

    def __init__(self, where: str, why: str, *, hint: str | None = None) -> None:
        super().__init__(f"{where} cannot be read: {why}", hint=hint)
        self.where = where
        self.why = why


class TurnEnded(OpenClawError):
    """The turn stops here; the subclass says why."""


class TurnAborted(TurnEnded):
    """A person, or a message in interrupt mode, stopped the turn."""


class TurnTimedOut(TurnEnded):
    """The turn ran past its deadline."""


class TurnParked(TurnEnded):
    """The turn waits for another session's answer and holds no worker meanwhile."""

    def __init__(self, session: str, message_id: str, milliseconds: int) -> None:
        super().__init__(f"waiting for an answer of {session}")
        self.session = session
        self.message_id = message_id
        self.milliseconds = milliseconds


class TurnYielded(TurnEnded):
    """The model ended its turn to wait; the message is what the tool answered."""


class BudgetExhausted(TurnEnded):
    """A budget is used up; the turn ends with an answer that says so."""


class TurnHandedOver(TurnEnded):
    """This worker is leaving; another one continues the turn from its journal."""


class FailureReason(StrEnum):
    """Why a model call failed: the words of the failover table, plus two that never fall back."""

    BILLING = "billing"
    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    AUTH_PERMANENT = "auth_permanent"
    TIMEOUT = "timeout"
    FORMAT = "format"
    MODEL_NOT_FOUND = "model_not_found"
    SESSION_EXPIRED = "session_expired"
    UNKNOWN = "unknown"
    CONTEXT_OVERFLOW = "context_overflow"
    CUT = "cut"


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
        self.code = encodable(code) if code else code
        """The provider's own word for the error, or ours for an answer that is none."""
        self.retry_after = retry_after
        """Seconds the provider asked us to wait."""
        self.request_id = request_id
        self.again = False
        """The next call of this model will be another one, and may be answered: it asks for less, or tells more."""


class ToolError(OpenClawError):
    """A tool call failed in a way the model can read and adapt to."""

    def __init__(self, message: str, *, output: str = "") -> None:
        super().__init__(message)
        self.output = output
        """What others wrote, such as a program until then; the model gets it after the message, quoted as untrusted."""


class ToolInputInvalid(ToolError):
    """The arguments do not fit the tool's schema."""


class ToolTimedOut(ToolError):
    """The tool ran past its time limit and was ended."""
