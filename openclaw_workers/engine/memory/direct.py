"""Memory on a Qdrant server, as any worker reaches it: without asking another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from openclaw_workers.engine.memory.client import MemoryClient, MemoryUnavailable
from openclaw_workers.engine.memory.service import MemoryService
from openclaw_workers.memory.points import IndexUnavailable
from openclaw_workers.memory.scopes import Visibility


class DirectMemory:
    """Searches by itself; whoever owns the place's files brings the index up to date."""

    def __init__(self, service: Callable[[], MemoryService], owner: MemoryClient) -> None:
        self._service = service
        self._owner = owner

    def search(self, query: str, visible: Visibility, asked: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._service().search(query, visible, asked)
        except IndexUnavailable as error:
            raise MemoryUnavailable(str(error)) from error

    def status(self, agent_id: str) -> dict[str, Any]:
        try:
            return self._service().status(agent_id)
        except IndexUnavailable as error:
            raise MemoryUnavailable(str(error)) from error

    def sync(
        self,
        agent_id: str,
        *,
        force: bool = False,
        finished: Sequence[tuple[str, str]] = (),
        progress: Callable[[int, int], None] = lambda done, all_of: None,
    ) -> dict[str, Any]:
        return self._owner.sync(agent_id, force=force, finished=finished, progress=progress)

    def want_sync(self, agent_id: str) -> None:
        self._owner.want_sync(agent_id)
