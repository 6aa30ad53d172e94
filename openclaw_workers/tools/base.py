"""What a tool is: a name, an effect, a typed input and a function of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.tool_spec import RAW_ARGUMENTS
from openclaw_workers.errors import ToolInputInvalid

if TYPE_CHECKING:
    from openclaw_workers.tools.sessions.port import SessionPort


class Effect(StrEnum):
    """What recovery may do with a call that was started but never recorded."""

    NONE = "none"  # only reads: call it again
    IDEMPOTENT = "idempotent"  # call it again with the same call id
    ONCE = "once"  # do not call it again; tell the model the outcome is unknown


class ToolInput(BaseModel):
    """Field docstrings become the schema's descriptions: one text, read by the model and by people."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _says_something(value: str) -> str:
    if not value.strip():
        raise ValueError("expected words, not blanks alone")
    return value


Words = Annotated[str, Field(min_length=1), AfterValidator(_says_something)]
"""A text for somebody to read."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Everything a tool may touch."""

    workspace: Path
    call_id: str
    agent_id: str
    session_key: str
    cancel: Cancel
    timeout_seconds: float
    """The longest this call may take by itself; a turn that ends before that says so by `cancel`."""
    progress: Callable[[str], None]
    """Show a line of output while the call runs; may be dropped, never blocks."""
    exec_seconds: float = 120
    """How long a command may take whose call names no time."""
    sessions: SessionPort | None = None
    """Other sessions, for the tools that deal with them."""


InputT = TypeVar("InputT", bound=ToolInput)


class Tool(ABC, Generic[InputT]):
    """The class docstring is the description the model reads."""

    name: ClassVar[str]
    effect: ClassVar[Effect]
    input_type: type[InputT]
    batched: ClassVar[bool] = False
    """Calls of one message are run together and first, by `run_together`."""
    ends_turn: ClassVar[bool] = False
    """A call that succeeds ends the turn: the model is not asked again."""

    def quotes_others(self, args: InputT) -> bool:
        """Whether the result is text of others' making, which the model gets quoted as untrusted."""
        return False

    def is_refusal(self, answer: str) -> bool:
        """Whether what it returned says that nothing came of the call: it counts as failed then."""
        return False

    @abstractmethod
    def run(self, args: InputT, ctx: ToolContext) -> str:
        """Do it and return what the model should read, bounded in size.

        Raises:
            ToolError: it could not be done; the message goes to the model.
        """

    def run_together(self, calls: Sequence[tuple[InputT, ToolContext]]) -> list[str]:
        """Do several calls of one message as one; an answer each."""
        return [self.run(args, ctx) for args, ctx in calls]

    def description(self) -> str:
        return " ".join((type(self).__doc__ or "").split())

    def parse(self, arguments: dict[str, Any]) -> InputT:
        """Check a model's arguments.

        Raises:
            ToolInputInvalid: naming each wrong field and what was expected.
        """
        if RAW_ARGUMENTS in arguments:
            wrote = str(arguments[RAW_ARGUMENTS])[:200]
            raise ToolInputInvalid(f"the arguments for {self.name} were not a JSON object; they began: {wrote}")
        try:
            return self.input_type.model_validate(arguments)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'input'}: {problem['msg'].removeprefix('Value error, ')}"
                for problem in error.errors()
            )
            raise ToolInputInvalid(f"{self.name} was called with wrong arguments: {wrong}") from error
