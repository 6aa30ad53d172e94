"""Memory as the rest of the fleet reaches it: through the process that owns the index, or directly on a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from openclaw_workers.engine.place_client import PlaceClient, PlaceFailed, PlaceSilent
from openclaw_workers.errors import TransientError
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.store.memory import MemoryRequests

SEARCH_SECONDS = 20.0
SYNC_SECONDS = 600.0


class MemoryUnavailable(TransientError):
    """Memory cannot be searched now; the message says why."""


class MemoryAccess(Protocol):
    """Every method raises MemoryUnavailable when memory cannot be reached."""

    def search(self, query: str, visible: Visibility, asked: dict[str, Any]) -> dict[str, Any]: ...

    def status(self, agent_id: str) -> dict[str, Any]: ...

    def sync(
        self,
        agent_id: str,
        *,
        force: bool = False,
        finished: Sequence[tuple[str, str]] = (),
        progress: Callable[[int, int], None] = lambda done, all_of: None,
    ) -> dict[str, Any]: ...

    def want_sync(self, agent_id: str) -> None:
        """Have the index brought up to date soon; nobody waits for it."""


class MemoryClient:
    """Asks the owner of the index of one place."""

    def __init__(self, requests: MemoryRequests, client: PlaceClient, place: Callable[[], str]) -> None:
        self._requests = requests
        self._client = client
        self._place = place

    def search(self, query: str, visible: Visibility, asked: dict[str, Any]) -> dict[str, Any]:
        seen = {"agent": visible.agent_id, "scopes": list(visible.scopes), "all": visible.sees_all}
        return self._ask("search", {"query": query, "visible": seen, "asked": asked}, SEARCH_SECONDS)

    def status(self, agent_id: str) -> dict[str, Any]:
        return self._ask("status", {"agent": agent_id}, SEARCH_SECONDS)

    def get(self, agent_id: str, path: str, first: int | None, count: int | None) -> dict[str, Any]:
        """Lines of a memory file; for the people who run the agent."""
        return self._ask("get", {"agent": agent_id, "path": path, "from": first, "lines": count}, SEARCH_SECONDS)

    def files(self, agent_id: str) -> dict[str, Any]:
        """The memory files of an agent; for the people who run it."""
        return self._ask("files", {"agent": agent_id}, SEARCH_SECONDS)

    def sync(
        self,
        agent_id: str,
        *,
        force: bool = False,
        finished: Sequence[tuple[str, str]] = (),
        progress: Callable[[int, int], None] = lambda done, all_of: None,
    ) -> dict[str, Any]:
        asked = {"agent": agent_id, "force": force, "finished": [list(each) for each in finished]}
        return self._ask("sync", asked, SYNC_SECONDS, progress)

    def want_sync(self, agent_id: str) -> None:
        self._requests.want_sync(self._place(), agent_id)

    def _ask(
        self,
        operation: str,
        arguments: dict[str, Any],
        seconds: float,
        progress: Callable[[int, int], None] = lambda done, all_of: None,
    ) -> dict[str, Any]:
        try:
            return self._client.ask(self._place(), operation, arguments, seconds=seconds, progress=progress)
        except PlaceFailed as error:
            raise MemoryUnavailable(error.message) from error
        except PlaceSilent as error:
            silent = f"the service worker that owns the memory index did not answer within {seconds:.0f} s"
            if not error.has_owner:
                silent = (
                    "no service worker owns the memory index; start one with `ocw up` or `ocw worker --lane service`"
                )
            raise MemoryUnavailable(silent, hint="`ocw memory doctor` looks for the cause") from error
