"""What a client needs of an installation, whichever way it is reached. Answers are the JSON of `ocw --json`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from openclaw_workers.client.async_follower import AsyncFollower
from openclaw_workers.domain.accepted import Queued

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message on its way to an agent."""

    text: str
    session: str = ""
    agent: str = ""
    model: str | None = None
    thinking: str | None = None
    system: str | None = None
    mode: str | None = None
    files: Sequence[Path] = ()
    key: str | None = None
    """A repeat with the same one makes no second turn."""


class Backend(Protocol):
    async def accept(self, message: NewMessage) -> Queued | Json:
        """Store a message; JSON if that answered or rejected it at once."""

    def reader(self) -> AbstractAsyncContextManager[AsyncFollower]:
        """Follows one conversation."""

    async def sessions(self, *, limit: int, agent: str | None, label: str | None) -> Json: ...

    async def session(self, key: str) -> Json: ...

    async def history(self, key: str, limit: int | None) -> list[Json]: ...

    async def runs(self, *, limit: int, session: str | None, state: str | None) -> Json: ...

    async def run(self, run: str) -> Json: ...

    async def tree(self, of: str | None, limit: int) -> Json: ...

    async def stop(self, run: str) -> Json: ...

    async def steer(self, run: str, text: str) -> Json: ...

    async def close(self) -> None: ...
