"""Read a stream of any API to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from pydantic import ValidationError

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.interruptible_http import each
from openclaw_workers.providers.base import StreamEvent, TextDelta, ThinkingDelta
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.http.event_fields import fields_of

_MALFORMED = (TypeError, AttributeError, KeyError, IndexError, ValidationError)
"""The errors of reading a malformed event; the SDKs do not validate events."""


class EventReader(Protocol):
    """Collects one answer."""

    begun: bool

    def take(self, event: Any) -> Iterable[StreamEvent]: ...

    def end(self) -> Iterable[StreamEvent]: ...


def read_events(events: Any, reader: EventReader, endpoint: Endpoint, cancel: Cancel) -> Iterator[StreamEvent]:
    """Read all events of an SDK's stream.

    Raises:
        ProviderError: the stream is incomplete, the answer is empty, or an event does not match the API.
    """
    try:
        # Closes the response, also when the caller stops reading, so that the connection returns to its pool.
        with events:
            for event in each(iter(events), cancel):
                yield from map(_with_text, reader.take(fields_of(event)))
        yield from reader.end()
    except _MALFORMED as error:
        raise ProviderError(
            f"{endpoint.provider}: the answer is not in the form of its API ({type(error).__name__})",
            reason=FailureReason.CUT,
            code="malformed_answer",
        ) from None


def _with_text(event: StreamEvent) -> StreamEvent:
    if isinstance(event, TextDelta | ThinkingDelta) and not isinstance(event.text, str):
        raise TypeError(f"{type(event.text).__name__} instead of text")
    return event
