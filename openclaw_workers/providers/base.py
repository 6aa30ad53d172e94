"""The interface of model providers: one streaming call that can be cancelled, with typed failures."""

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
"""The output tokens to reserve for an answer of unknown maximum length."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    model: str
    """The part after `provider/`."""
    system: str
    """The part that is the same for all calls and workers, so that providers can cache it."""
    messages: list[TranscriptEntry]
    """User, assistant and tool-result entries in a valid sequence; never notices."""
    tools: list[ToolSpec] = field(default_factory=list)
    thinking: str = "off"
    failed_calls: int = 0
    """Calls of this turn that failed since the last recorded assistant message."""
    system_tail: str = ""
    """The part after the system prompt that differs between sessions."""
    worker_line: str = ""
    """The part that differs between workers. It follows the newest message, so that all before it stays cacheable."""
    system_extra: str = ""
    """What the message added to the system prompt; a program that resumes its session has not seen it yet."""
    endpoint: Endpoint | None = None
    """The URL and key to use; None takes the provider's first."""
    workspace: Path | None = None
    """The working directory of a program that serves as a model."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's thinking, if its API shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class UsageSoFar:
    """The tokens known before the answer is complete, so that an abandoned call is counted too."""

    usage: Usage
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The complete assistant message; always the last event of a complete stream."""

    content: list[AssistantBlock]
    usage: Usage
    stop_reason: Literal["stop", "toolUse", "length"] = "stop"
    refused: bool = False
    """The model declined; the content says so."""
    estimated: bool = False
    """The API did not report its tokens; the usage is our estimate."""


StreamEvent = TextDelta | ThinkingDelta | UsageSoFar | Answer


class Provider(ABC):
    """One family of models.

    Many threads call an implementation at once.
    """

    name: str
    can_summarise: ClassVar[bool] = True
    """Whether its models can summarise a conversation."""
    can_call_tools: ClassVar[bool] = True
    """Whether its models call our tools."""

    api: str
    """The default API of its models."""

    def api_of(self, model: str) -> str:
        """The API of this model."""
        return self.api

    def max_output_tokens(self, model: str) -> int:
        """The maximum number of output tokens, as far as known."""
        return RESERVED_OUTPUT

    def reads_pdfs(self, model: str) -> bool:
        """Whether PDFs are sent to the model, and not only named."""
        return False

    def warm_up(self, model: str) -> None:  # noqa: B027 (most have nothing to load)
        """Load what the first call of this model would have to load; without it, that call does."""

    @abstractmethod
    def context_window(self, model: str) -> int:
        """The context window in tokens. Raises ProviderError(model_not_found) for an unknown model."""

    @abstractmethod
    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        """Call the model once; this is one entry in the ledger.

        It may block between events. While blocked it must notice `cancel` within half a second and raise what
        `cancel.check()` raises. A stream that ends without an `Answer` is incomplete.

        Raises:
            ProviderError: the call failed; `reason` says how.
        """
