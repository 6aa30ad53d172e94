"""One call of one model at one endpoint, and the clients that are kept for the next."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Final, Generic, TypeVar

from openclaw_workers.config.model_catalog import ModelInfo
from openclaw_workers.domain.transcript import Usage, UserEntry, approx_tokens_of
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.thinking import Refusals
from openclaw_workers.redaction import remove_secrets

_KEPT_CLIENTS: Final = 64
_LEAST_OUTPUT: Final = 2048
_MARGIN: Final = 1.25
"""Of the estimate, which is low for Chinese and for code."""

REFUSALS: Final = Refusals()

ClientT = TypeVar("ClientT")


@dataclass(frozen=True)
class Call:
    request: ModelRequest
    model: ModelInfo
    endpoint: Endpoint

    def headers(self) -> dict[str, str]:
        """The model's own headers; those of the endpoint belong to its client."""
        return {name: value.get_secret_value() for name, value in self.model.headers}

    def scrub(self, text: str) -> str:
        """Take this call's secrets out of a text that came from outside; servers quote what they are sent."""
        # Configured headers often carry a second credential, for example of a gateway.
        headers = (value for _, value in (*self.endpoint.headers, *self.model.headers))
        return remove_secrets(text, (self.endpoint.api_key, *headers))

    @cached_property
    def system(self) -> str:
        return "\n\n".join(part for part in (self.request.system, self.request.system_tail) if part)

    @property
    def worker_line(self) -> str:
        """What follows the newest message. Not after a tool's result, where it would be taken for an answer to it."""
        newest = self.request.messages[-1] if self.request.messages else None
        return self.request.worker_line if isinstance(newest, UserEntry) else ""

    @cached_property
    def approx_input(self) -> int:
        """The tokens of the request, before the API has counted them."""
        tools = sum(len(tool.text) for tool in self.request.tools)
        tokens = approx_tokens_of(self.request.messages)
        return tokens + (len(self.system.encode(errors="replace")) + tools) // 4

    def estimated_input(self) -> Usage:
        """The usage for the ledger where the API has not counted it: a call that is given up is not free."""
        return Usage(input=self.approx_input)

    def output_limit(self) -> int:
        """Tokens the answer may have. Most APIs refuse a request that, with its answer, could outgrow the window."""
        room = self.model.context_window - int(self.approx_input * _MARGIN)
        # The estimate may be too high, so some room is always asked for. If there is none, the API reports an overflow.
        return max(min(self.model.max_tokens, room), min(self.model.max_tokens, _LEAST_OUTPUT))


def plain_name(name: str) -> str:
    """A tool's name as the APIs take it. Models call what does not exist by names that would be refused ever after."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


class Clients(Generic[ClientT]):
    """A client for each endpoint, shared by all threads, with its open connections.

    One that falls out is not closed: a call may still be using it. Its connections end with it.
    """

    def __init__(self, make: Callable[[Endpoint], ClientT]) -> None:
        self._make = make
        self._lock = Lock()
        self._clients: OrderedDict[Endpoint, ClientT] = OrderedDict()

    def of(self, endpoint: Endpoint) -> ClientT:
        with self._lock:
            if endpoint not in self._clients:
                self._clients[endpoint] = self._make(endpoint)
                if len(self._clients) > _KEPT_CLIENTS:
                    self._clients.popitem(last=False)
            self._clients.move_to_end(endpoint)
            return self._clients[endpoint]
