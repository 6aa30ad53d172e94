"""Differences between servers with a Chat Completions API. We learn them from the errors that a server returns.

- OpenAI's newer models reject the old name of the output limit, and most other servers do not know the new one. Some
  URLs, such as Azure's or a gateway's, serve these newer models too.
- DeepSeek and Kimi want their models' earlier thinking back in the request; other servers reject that.
- Most servers report the tokens of a stream only if `stream_options` asks for it; some reject that option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.call import Call

OLD_LIMIT: Final = "max_tokens"
NEW_LIMIT: Final = "max_completion_tokens"
THOUGHTS: Final = "reasoning_content"
COUNT: Final = "stream_options"


class Dialects:
    """Remembers which fields each model wants changed, so that a process learns it once."""

    def __init__(self) -> None:
        self._wanted: dict[str, frozenset[str]] = {}

    def stream(self, call: Call, ask: Callable[[frozenset[str]], Iterator[StreamEvent]]) -> Iterator[StreamEvent]:
        """Call `ask` with the fields that this model is known to want changed.

        Raises:
            ProviderError: with `will_differ` set if the error names another field, which the next call will change.
        """
        wanted = self._wanted.get(call.model.ref, frozenset()) | ({NEW_LIMIT} if not call.endpoint.base_url else set())
        try:
            yield from ask(wanted)
        except ProviderError as error:
            new = {field for field in (NEW_LIMIT, THOUGHTS, COUNT) if field in error.message} - wanted
            if new and error.reason is FailureReason.FORMAT:
                self._wanted[call.model.ref] = wanted | new
                error.will_differ = True
            raise


DIALECTS: Final = Dialects()
