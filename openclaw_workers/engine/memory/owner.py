"""The memory index of a place, held open by the process that answers for the place.

The embedded index admits one process. If its holder dies, its lock on the files is gone at once. A paused one that lost
its lease still holds the lock; until it wakes or ends, questions are answered with that reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import structlog

from openclaw_workers.engine.memory.service import MemoryService
from openclaw_workers.engine.memory.watch import ChangeWatch
from openclaw_workers.engine.place_service import Operation, Progress
from openclaw_workers.errors import OpenClawError
from openclaw_workers.memory.points import IndexUnavailable
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.store.memory import MemoryRequests

log = structlog.get_logger(__name__)

Answer = Callable[[MemoryService, dict[str, Any], Progress], dict[str, Any]]


class MemoryOwner:
    """Implements engine.place_service.Part."""

    def __init__(self, requests: MemoryRequests, make_service: Callable[[], MemoryService], watch: ChangeWatch) -> None:
        self._requests = requests
        self._make_service = make_service
        self._watch = watch
        self._service: MemoryService | None = None
        self._making = threading.Lock()
        # One thread indexes what has changed.
        self._syncs = ThreadPoolExecutor(1, thread_name_prefix="ocw-memory-sync")

    @property
    def operations(self) -> Mapping[str, Operation]:
        answers: dict[str, Answer] = {
            "search": _search,
            "sync": _sync,
            "get": lambda service, asked, _: service.get(
                str(asked["agent"]), str(asked["path"]), asked["from"], asked["lines"]
            ),
            "files": lambda service, asked, _: service.files(str(asked["agent"])),
            "status": lambda service, asked, _: service.status(str(asked["agent"])),
        }
        return {name: partial(self._carry_out, answer) for name, answer in answers.items()}

    def begin(self) -> None:
        with self._making:
            if self._service is None:
                self._service = self._make_service()
                log.info("memory.owned")

    def work(self, place: str) -> None:
        # Also between questions: those of a busy fleet leave no pause.
        for agent in {*self._watch.due(), *self._wanted(place)}:
            self._syncs.submit(self._sync, agent)

    def end(self) -> None:
        with self._making:
            service, self._service = self._service, None
        if service is not None:
            service.close()
            log.info("memory.released")

    def close(self) -> None:
        self._syncs.shutdown(wait=False, cancel_futures=True)

    def _carry_out(self, answer: Answer, asked: dict[str, Any], progress: Progress) -> dict[str, Any]:
        if self._service is None:
            raise OpenClawError("this worker no longer owns the memory index")
        try:
            return answer(self._service, asked, progress)
        except IndexUnavailable as error:
            raise OpenClawError(str(error)) from error

    def _wanted(self, place: str) -> Sequence[str]:
        return self._requests.wanted(place) if self._watch.is_time() else ()

    def _sync(self, agent: str) -> None:
        service = self._service
        if service is None:
            return
        try:
            service.sync(agent)
        except (IndexUnavailable, OpenClawError) as error:
            log.warning("memory.sync_failed", agentId=agent, error=str(error))
        except Exception:
            log.exception("memory.sync_failed", agentId=agent)


def _search(service: MemoryService, asked: dict[str, Any], progress: Progress) -> dict[str, Any]:
    seen = asked["visible"]
    scopes, is_admin = tuple(map(str, seen["scopes"])), bool(seen.get("all"))
    return service.search(
        str(asked["query"]), Visibility(str(seen["agent"]), scopes, sees_all=is_admin), asked["asked"]
    )


def _sync(service: MemoryService, asked: dict[str, Any], progress: Progress) -> dict[str, Any]:
    finished = [(str(path), str(key)) for path, key in asked.get("finished", [])]
    return service.sync(str(asked["agent"]), force=bool(asked.get("force")), finished=finished, progress=progress)
