"""Asks the service worker that answers for a place."""

from __future__ import annotations

import time
from typing import Any

from openclaw_workers.engine.place_service import LEASE_MS, Progress
from openclaw_workers.errors import NotFound, TransientError
from openclaw_workers.store.place_requests import PlaceRequests


class PlaceSilent(TransientError):
    """Nobody answers for the place, or not in time."""

    def __init__(self, *, has_owner: bool) -> None:
        super().__init__("did not answer in time" if has_owner else "does not run")
        self.has_owner = has_owner


class PlaceFailed(TransientError):
    """Whoever answers for the place could not do what was asked; the message says why."""


def _no_progress(done: int, all_of: int) -> None:
    """Nobody wants to know."""


class PlaceClient:
    def __init__(self, requests: PlaceRequests) -> None:
        self._requests = requests

    def ask(
        self,
        place: str,
        operation: str,
        arguments: dict[str, Any],
        *,
        seconds: float,
        progress: Progress = _no_progress,
    ) -> dict[str, Any]:
        """Ask, and ask again if the owner changes meanwhile: the old one may have taken the question with it.

        Raises:
            NotFound: there is no such thing at the place.
            PlaceSilent: no service worker answers for it, or not in time.
            PlaceFailed: it could not be done.
        """
        until = time.monotonic() + seconds
        request, owner = self._requests.ask(place, operation, arguments)
        owned_at = time.monotonic()
        while time.monotonic() < until:
            answer = self._requests.next_answer(request)
            if answer is None:
                now = self._requests.owner(place)
                if now and now != owner:
                    request, owner = self._requests.ask(place, operation, arguments)
                if now:
                    owned_at = time.monotonic()
                elif time.monotonic() - owned_at > LEASE_MS / 1000:  # a worker that is there takes it within a lease
                    break
            elif "progress" in answer:
                progress(*answer["progress"])
            elif "missing" in answer:
                raise NotFound(str(answer["missing"]))
            elif "error" in answer:
                raise PlaceFailed(str(answer["error"]))
            else:
                return dict(answer["answer"])
        raise PlaceSilent(has_owner=bool(self._requests.owner(place)))
