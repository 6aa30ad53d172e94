"""What servers that speak Chat Completions want otherwise than others do; they say so in refusing.

- OpenAI's newer models refuse the old name of the limit of an answer, most other servers do not know the new one; and
  some addresses, such as Azure's or a gateway's, have the newer models behind them.
- DeepSeek and Kimi want to be told again what their models thought, other servers refuse that.
- Most count the tokens of a stream only when asked to, and some do not know how they are asked.
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
    """The fields that each model wants otherwise, so that a process learns it once."""

    def __init__(self) -> None:
        self._wanted: dict[str, frozenset[str]] = {}

    def stream(self, call: Call, ask: Callable[[frozenset[str]], Iterator[StreamEvent]]) -> Iterator[StreamEvent]:
        """Ask with the fields as they are known to be wanted.

        Raises:
            ProviderError: with `will_differ` set where another one is to change, and the next call has it so.
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
