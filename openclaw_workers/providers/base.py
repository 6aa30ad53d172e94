"""What the agent loop knows of a model: one streaming call, cancellable, with typed failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import AssistantBlock, TranscriptEntry, Usage
from openclaw_workers.providers.endpoint import Endpoint

RESERVED_OUTPUT = 1_000
"""What is set aside for an answer where nothing limits it."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    model: str
    """The part after `provider/`."""
    system: str
    """What stays the same from call to call and from worker to worker, so that it can be cached."""
    messages: list[TranscriptEntry]
    """User, assistant and tool-result entries in a valid sequence; never notices."""
    tools: list[ToolSpec] = field(default_factory=list)
    thinking: str = "off"
    failed_calls: int = 0
    """Calls of this turn that failed since the last recorded assistant message."""
    system_tail: str = ""
    """What follows the system prompt and may vary from session to session."""
    worker_line: str = ""
    """What varies by worker. It goes after the newest message, so that all before it is as it was on another host."""
    system_extra: str = ""
    """What the message adds to the system prompt, and is in it already: new to whoever knows the rest."""
    endpoint: Endpoint | None = None
    """The address and key to use; None takes the provider's first."""
    workspace: Path | None = None
    """Where a command that serves as a model works."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of what the model thinks, where its API tells."""

    text: str


@dataclass(frozen=True, slots=True)
class UsageSoFar:
    """Tokens known before the answer is complete, so that an abandoned call is still counted."""

    usage: Usage
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The complete assistant message; always the last event of a stream that was not cut."""

    content: list[AssistantBlock]
    usage: Usage
    stop_reason: Literal["stop", "toolUse", "length"] = "stop"
    refused: bool = False
    """The model declined; the content says so in words."""
    estimated: bool = False
    """The API did not count its tokens; the usage is our own guess."""


StreamEvent = TextDelta | ThinkingDelta | UsageSoFar | Answer


class Provider(ABC):
    """One family of models.

    Implementations are called from many threads at once.
    """

    name: str
    summarises: ClassVar[bool] = True
    """Whether its models can sum up a conversation."""
    calls_tools: ClassVar[bool] = True
    """Whether its models call tools of ours."""

    api: str
    """The protocol of its models, where `api_of` does not know better."""

    def api_of(self, model: str) -> str:
        """The protocol spoken with this model."""
        return self.api

    def most_output(self, model: str) -> int:
        """Tokens that its longest answer has, as far as that is known."""
        return RESERVED_OUTPUT

    def reads_pdfs(self, model: str) -> bool:
        """Whether the model is sent PDFs, and not only told of them."""
        return False

    def warm_up(self, model: str) -> None:  # noqa: B027 (most have nothing to load)
        """Load what the first call of this model would have to load; without it, that call does."""

    @abstractmethod
    def context_window(self, model: str) -> int:
        """Tokens the model can see. Raises ProviderError(model_not_found) for a model it does not have."""

    @abstractmethod
    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        """Ask the model once: one call, which is booked as one.

        May block between events; while blocked it must notice `cancel` within half a second and raise what
        `cancel.check()` raises. A stream that ends without an `Answer` was cut.

        Raises:
            ProviderError: the call failed; `reason` says how.
        """
