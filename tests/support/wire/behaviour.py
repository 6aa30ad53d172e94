"""What the server does with a request: answer, fail, or stay silent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Called:
    """A tool call of the model; arguments given as text are sent unchanged."""

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
    """The text of a refusal (OpenAI), or the text before it (Anthropic)."""
    input: int = 10
    """Input tokens that are not cached; cached ones are extra."""
    output: int = 5
    counted: bool = True
    """Whether it reports usage; some servers do not."""
    cache_read: int = 0
    cache_write: int = 0
    stop: str | None = None
    """The API's own stop reason; None for the matching one."""
    after: int | None = None
    """`then` happens after this many events; None means after the last one."""
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
    """Sent unchanged instead of the error."""


@dataclass(frozen=True)
class Raw:
    """A stream of these events, as name and data, valid or not."""

    events: Sequence[tuple[str | None, Any]]


@dataclass(frozen=True)
class Hang:
    """No answer, not even headers, until the client disconnects."""


Behaviour = Reply | Failure | Raw | Hang


def pieces(text: str) -> list[str]:
    """Split the text into at most four pieces."""
    size = max(1, -(-len(text) // 4))
    return [text[at : at + size] for at in range(0, len(text), size)]
