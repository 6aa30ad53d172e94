"""The owner of a place's memory index: one service worker, under a lease, answers for all others.

The embedded index admits one process. If the owner dies, its lock on the files is gone at once and its lease soon, and
another service worker of the place takes over. A paused owner that lost its lease still holds the lock; until it wakes
or ends, questions are answered with that reason.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from openclaw_workers.engine.memory.service import MemoryService
from openclaw_workers.engine.memory.watch import ChangeWatch
from openclaw_workers.errors import NotFound, OpenClawError, StoreUnavailable
from openclaw_workers.memory.points import IndexUnavailable
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.store.memory import MemoryRequests

log = structlog.get_logger(__name__)

LEASE_MS = 5_000
RENEW_SECONDS = 1.0
THREADS = 4
"""Questions answered at a time. One more thread indexes what has changed."""
PROGRESS_SECONDS = 0.2


class MemoryOwner(threading.Thread):
    def __init__(
        self,
        requests: MemoryRequests,
        make_service: Callable[[], MemoryService],
        watch: ChangeWatch,
        *,
        place: Callable[[], str],
        token: str,
    ) -> None:
        super().__init__(name="ocw-memory", daemon=True)
        self._requests = requests
        self._make_service = make_service
        self._watch = watch
        self._place = place
        self._token = token
        self._service: MemoryService | None = None
        self._stopped = threading.Event()
        self._renewed_at = 0.0
        self._answers = ThreadPoolExecutor(THREADS, thread_name_prefix="ocw-memory-answer")
        self._syncs = ThreadPoolExecutor(1, thread_name_prefix="ocw-memory-sync")

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                if self._holds_lease():
                    self._serve()
                else:
                    self._let_go()
                    self._stopped.wait(RENEW_SECONDS)
            except StoreUnavailable as error:
                log.debug("memory.postponed", error=error.message)
                self._stopped.wait(RENEW_SECONDS)
            except Exception:
                log.exception("memory.failed")
                self._stopped.wait(RENEW_SECONDS)

    def stop(self) -> None:
        """Give the index up, so that another worker owns it at once."""
        self._stopped.set()
        if self.is_alive():
            self.join(timeout=5)
        for pool in (self._answers, self._syncs):
            pool.shutdown(wait=False, cancel_futures=True)
        self._let_go()
        try:
            if place := self._place():
                self._requests.lease(place, self._token, 0)
        except StoreUnavailable as error:
            log.debug("memory.lease_kept", error=error.message)

    def _holds_lease(self) -> bool:
        """Renewed once a second; the place is "" where the state directory cannot be written."""
        if time.monotonic() - self._renewed_at < RENEW_SECONDS and self._service is not None:
            return True
        place = self._place()
        held = bool(place) and self._requests.lease(place, self._token, LEASE_MS)
        if held:
            self._renewed_at = time.monotonic()
            if self._service is None:
                self._service = self._make_service()
                log.info("memory.owned", place=place)
        return held

    def _let_go(self) -> None:
        if self._service is not None:
            self._service.close()
            self._service = None
            log.info("memory.released")

    def _serve(self) -> None:
        assert self._service is not None
        service, place = self._service, self._place()
        question = self._requests.next_question(place)
        if question is not None:
            self._answers.submit(self._answer, service, question)
        # Once in a while: between two questions of a busy fleet there is no pause.
        for agent in {*self._watch.due(), *self._wanted(place)}:
            self._syncs.submit(self._sync, service, agent)

    def _wanted(self, place: str) -> Sequence[str]:
        return self._requests.wanted(place) if self._watch.is_time() else ()

    def _sync(self, service: MemoryService, agent: str) -> None:
        try:
            service.sync(agent)
        except (IndexUnavailable, OpenClawError) as error:
            log.warning("memory.sync_failed", agentId=agent, error=str(error))
        except Exception:
            log.exception("memory.sync_failed", agentId=agent)

    def _answer(self, service: MemoryService, question: dict[str, Any]) -> None:
        request = str(question.get("id", ""))
        answer: dict[str, Any]
        try:
            answer = {"answer": self._carry_out(service, request, question["operation"], question["arguments"])}
        except NotFound as error:
            answer = {"missing": error.message}
        except (IndexUnavailable, OpenClawError) as error:
            answer = {"error": str(error)}
        except Exception as error:
            log.exception("memory.failed", operation=question.get("operation"))
            answer = {"error": f"memory failed: {type(error).__name__}: {error}"}
        try:
            self._requests.reply(request, answer)
        except StoreUnavailable as error:
            log.warning("memory.reply_failed", error=error.message)

    def _carry_out(self, service: MemoryService, request: str, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        match operation:
            case "search":
                seen = asked["visible"]
                scopes, is_admin = tuple(map(str, seen["scopes"])), bool(seen.get("all"))
                visible = Visibility(str(seen["agent"]), scopes, sees_all=is_admin)
                return service.search(str(asked["query"]), visible, asked["asked"])
            case "sync":
                finished = [(str(path), str(key)) for path, key in asked.get("finished", [])]
                return service.sync(
                    str(asked["agent"]),
                    force=bool(asked.get("force")),
                    finished=finished,
                    progress=self._progress(request),
                )
            case "get":
                return service.get(str(asked["agent"]), str(asked["path"]), asked["from"], asked["lines"])
            case "files":
                return service.files(str(asked["agent"]))
            case "status":
                return service.status(str(asked["agent"]))
        raise IndexUnavailable(f"this worker does not know the question {operation!r}; it is of another version")

    def _progress(self, request: str) -> Callable[[int, int], None]:
        said = 0.0

        def progress(done: int, all_of: int) -> None:
            nonlocal said
            if time.monotonic() - said > PROGRESS_SECONDS:
                said = time.monotonic()
                self._requests.reply(request, {"progress": [done, all_of]})

        return progress
