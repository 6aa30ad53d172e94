"""What the server shall do with a request: answer, fail, or keep silent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Called:
    """A tool call of the model; arguments given as text go out as they are."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Reply:
    """A streamed answer."""

    text: str = ""
    calls: Sequence[Called] = ()
    thinking: str = ""
    redacted: str = ""
    """Sealed thinking (Anthropic)."""
    refusal: str = ""
    """The model declines in these words (OpenAI) or after them (Anthropic)."""
    input: int = 10
    """Fresh input tokens; those of the cache come on top."""
    output: int = 5
    counted: bool = True
    """Whether it says what it took, as some servers do not."""
    cache_read: int = 0
    cache_write: int = 0
    stop: str | None = None
    """The API's own word for why it stopped; None: the fitting one."""
    after: int | None = None
    """After so many events `then` happens; None: after the last one."""
    then: Literal["end", "reset", "hang", "error"] = "end"
    """The stream ends as if it were complete, breaks, falls silent, or reports `error`."""
    error: Mapping[str, Any] = field(default_factory=dict)
    gap_seconds: float = 0.0
    """Pause before each event."""
    delay_seconds: float = 0.0
    """Pause before the first one, after the headers."""


@dataclass(frozen=True)
class Failure:
    """An answer with a status; the body is given in the shape of the API's errors."""

    status: int
    message: str = "something went wrong"
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is instead."""


@dataclass(frozen=True)
class Raw:
    """A stream of these events, name and data, whatever they are."""

    events: Sequence[tuple[str | None, Any]]


@dataclass(frozen=True)
class Hang:
    """No answer at all, not even headers, until the client goes away."""


Behaviour = Reply | Failure | Raw | Hang


def pieces(text: str) -> list[str]:
    """Up to four pieces that make up the text."""
    size = max(1, -(-len(text) // 4))
    return [text[at : at + size] for at in range(0, len(text), size)]
