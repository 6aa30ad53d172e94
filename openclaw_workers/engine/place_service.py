"""Answers questions for a place: one service worker of a state directory, under a lease, answers for all others.

Some files can be read only where they are, and the embedded memory index admits one process. If the owner dies, its
lease ends soon, and another service worker of the place takes over. What is answered is a matter of its parts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import structlog

from openclaw_workers.errors import NotFound, OpenClawError, StoreUnavailable
from openclaw_workers.store.place_requests import PlaceRequests

log = structlog.get_logger(__name__)

LEASE_MS = 5_000
RENEW_SECONDS = 1.0
THREADS = 4
"""Questions answered at a time."""

Progress = Callable[[int, int], None]
"""Tells whoever asked how much is done, of how much."""
Operation = Callable[[dict[str, Any], Progress], dict[str, Any]]
"""Answers a question, from its arguments."""

PROGRESS_SECONDS = 0.2


class Part(Protocol):
    """Something that a place is asked about."""

    @property
    def operations(self) -> Mapping[str, Operation]:
        """What it answers, by the name of the question."""

    def begin(self) -> None:
        """This process answers for the place now."""

    def work(self, place: str) -> None:
        """Called between questions, about once a second or more often."""

    def end(self) -> None:
        """Another process may answer for the place now. May be called without `begin`, and twice."""

    def close(self) -> None:
        """The service has ended."""


class OnlyAnswers:
    """A part that holds nothing open and has nothing to do between questions."""

    def begin(self) -> None:
        """Nothing to open."""

    def work(self, place: str) -> None:
        """Nothing to do between questions."""

    def end(self) -> None:
        """Nothing to close."""

    def close(self) -> None:
        """Nothing to close."""


class PlaceService(threading.Thread):
    def __init__(self, requests: PlaceRequests, parts: Sequence[Part], *, place: Callable[[], str], token: str) -> None:
        """`place`: the id of the state directory, "" where that cannot be written."""
        super().__init__(name="ocw-place", daemon=True)
        self._requests = requests
        self._parts = parts
        self._place = place
        self._token = token
        self._operations = {name: act for part in parts for name, act in part.operations.items()}
        self._owns = False
        self._stopped = threading.Event()
        self._renewed_at = 0.0
        self._answers = ThreadPoolExecutor(THREADS, thread_name_prefix="ocw-place-answer")

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                if self._holds_lease():
                    self._serve()
                else:
                    self._let_go()
                    self._stopped.wait(RENEW_SECONDS)
            except StoreUnavailable as error:
                log.debug("place.postponed", error=error.message)
                self._stopped.wait(RENEW_SECONDS)
            except Exception:
                log.exception("place.failed")
                self._stopped.wait(RENEW_SECONDS)

    def stop(self) -> None:
        """Give the place up, so that another worker answers for it at once."""
        self._stopped.set()
        if self.is_alive():
            self.join(timeout=5)
        self._answers.shutdown(wait=False, cancel_futures=True)
        self._let_go()
        for part in self._parts:
            part.close()
        try:
            if place := self._place():
                # Last of all: the next owner can open the memory index only after this one has closed it.
                self._requests.lease(place, self._token, 0)
        except StoreUnavailable as error:
            log.debug("place.lease_kept", error=error.message)

    def _holds_lease(self) -> bool:
        """Renewed once a second."""
        if time.monotonic() - self._renewed_at < RENEW_SECONDS and self._owns:
            return True
        place = self._place()
        held = bool(place) and self._requests.lease(place, self._token, LEASE_MS)
        if held:
            self._renewed_at = time.monotonic()
            if not self._owns:
                for part in self._parts:
                    part.begin()
                self._owns = True
                log.info("place.owned", place=place)
        return held

    def _let_go(self) -> None:
        if self._owns:
            self._owns = False
            log.info("place.released")
        for part in self._parts:
            part.end()

    def _serve(self) -> None:
        place = self._place()
        question = self._requests.next_question(place)
        if question is not None:
            # In another thread: a slow answer must not keep this one from renewing the lease.
            self._answers.submit(self._answer, question)
        for part in self._parts:
            part.work(place)

    def _answer(self, question: dict[str, Any]) -> None:
        request, operation = str(question.get("id", "")), str(question.get("operation"))
        answer: dict[str, Any]
        try:
            answer = {"answer": self._operation(operation)(question["arguments"], self._progress(request))}
        except NotFound as error:
            answer = {"missing": error.message}
        except OpenClawError as error:
            answer = {"error": error.message}
        except Exception as error:
            log.exception("place.failed", operation=operation)
            answer = {"error": f"{operation} failed: {type(error).__name__}: {error}"}
        try:
            self._requests.reply(request, answer)
        except StoreUnavailable as error:
            log.warning("place.reply_failed", error=error.message)

    def _operation(self, name: str) -> Operation:
        act = self._operations.get(name)
        if act is None:
            raise OpenClawError(f"this worker does not know the question {name!r}; it is of another version")
        return act

    def _progress(self, request: str) -> Progress:
        said = 0.0

        def progress(done: int, all_of: int) -> None:
            nonlocal said
            if time.monotonic() - said > PROGRESS_SECONDS:
                said = time.monotonic()
                self._requests.reply(request, {"progress": [done, all_of]})

        return progress
