"""Under which name a model takes the limit of its answer.

OpenAI's newer models refuse the old name, most other servers do not know the new one; and some addresses, such as
Azure's or a gateway's, have the newer models behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.calls import Call
from openclaw_workers.providers.thinking import Parameters

OLD: Final = "max_tokens"
NEW: Final = "max_completion_tokens"


class Lengths:
    """Which models want the new name, so that a process learns it once."""

    def __init__(self) -> None:
        self._new: set[str] = set()

    def stream(self, call: Call, ask: Callable[[Parameters], Iterator[StreamEvent]]) -> Iterator[StreamEvent]:
        """Ask with the limit.

        Raises:
            ProviderError: with `again` set where the old name was refused, and the next call uses the new one.
        """
        name = OLD if call.endpoint.base_url and call.model.ref not in self._new else NEW
        try:
            yield from ask({name: call.output_limit()})
        except ProviderError as error:
            if name == OLD and error.reason is FailureReason.FORMAT and NEW in error.message:
                self._new.add(call.model.ref)
                error.again = True
            raise


LENGTHS: Final = Lengths()
