"""What the agent loop knows of a model: one streaming call, cancellable, with typed failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from openclaw_workers.cancel import Cancel
from openclaw_workers.models.tools import ToolSpec
from openclaw_workers.models.transcript import AssistantBlock, TranscriptEntry, Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    model: str
    """The part after `provider/`."""
    system: str
    messages: list[TranscriptEntry]
    """User, assistant and tool-result entries in a valid sequence; never notices."""
    tools: list[ToolSpec] = field(default_factory=list)
    thinking: str = "off"
    failed_calls: int = 0
    """Calls of this turn that failed since the last recorded assistant message."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class UsageSoFar:
    """Tokens known before the answer is complete, so that an abandoned call is still counted."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Answer:
    """The complete assistant message; always the last event of a stream that was not cut."""

    content: list[AssistantBlock]
    usage: Usage
    stop_reason: Literal["stop", "toolUse", "length"] = "stop"


StreamEvent = TextDelta | UsageSoFar | Answer


class Provider(ABC):
    """One family of models.

    Implementations are called from many threads at once.
    """

    name: str
    api: str

    @abstractmethod
    def context_window(self, model: str) -> int:
        """Tokens the model can see. Raises ProviderError(model_not_found) for a model it does not have."""

    @abstractmethod
    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        """Ask the model once.

        May block between events; while blocked it must notice `cancel` within half a second and raise what
        `cancel.check()` raises. A stream that ends without an `Answer` was cut.

        Raises:
            ProviderError: the call failed; `reason` says how.
        """
