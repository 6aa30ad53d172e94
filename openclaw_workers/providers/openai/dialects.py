"""Differences between servers with one of OpenAI's APIs. We learn them from the errors that a server returns.

- OpenAI's newer models reject the old name of the output limit, and most other servers do not know the new one. Some
  URLs, such as Azure's or a gateway's, serve these newer models too.
- DeepSeek and Kimi want their models' earlier thinking back in the request; other servers reject that.
- Most servers report the tokens of a stream only if `stream_options` asks for it; some reject that option.
- Some servers with a Responses API take only text as the output of a tool call. Then files follow as a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.call import Call

OLD_LIMIT: Final = "max_tokens"
NEW_LIMIT: Final = "max_completion_tokens"
THOUGHTS: Final = "reasoning_content"
COUNT: Final = "stream_options"
RESULT_PARTS: Final = "output"
CHAT_FIELDS: Final = (NEW_LIMIT, THOUGHTS, COUNT)


class Dialects:
    """Remembers which of these fields each model wants changed, so that a process learns it once."""

    def __init__(self, *fields: str) -> None:
        self._fields = {field: re.compile(rf"\b{field}\b") for field in fields}
        self._wanted: dict[str, frozenset[str]] = {}

    def stream(self, call: Call, ask: Callable[[frozenset[str]], Iterator[StreamEvent]]) -> Iterator[StreamEvent]:
        """Call `ask` with the fields that this model is known to want changed.

        Raises:
            ProviderError: with `will_differ` set if the error names another field, which the next call will change.
        """
        # Without a base URL it is OpenAI itself, where the new name always works: no first call has to fail.
        wanted = self._wanted.get(call.model.ref, frozenset()) | ({NEW_LIMIT} if not call.endpoint.base_url else set())
        try:
            yield from ask(wanted)
        except ProviderError as error:
            new = {field for field, named in self._fields.items() if named.search(error.message)} - wanted
            if new and error.reason is FailureReason.FORMAT:
                self._wanted[call.model.ref] = wanted | new
                error.will_differ = True
            raise


CHAT_DIALECTS: Final = Dialects(*CHAT_FIELDS)
RESPONSES_DIALECTS: Final = Dialects(RESULT_PARTS)
