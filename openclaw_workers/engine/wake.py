"""The one thing the engine needs from a message queue: a wake-up that may be lost, repeated or late."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from openclaw_workers.models.ids import RunId, SessionKey
from openclaw_workers.models.runs import Lane
from openclaw_workers.models.session_key import is_subagent


class Waker(Protocol):
    def turn(self, session: SessionKey, run: RunId) -> bool:
        """Ask any worker of the session's lane to look at it. False when the queue could not be reached;
        nothing is lost then, the sweep looks again."""

    def sealed(self, session: SessionKey, run: RunId) -> str:
        """The same wake-up as text, for a script to push into the lane's queue itself; "" if it cannot be."""

    def archive(self, archive_id: str) -> bool:
        """Ask the service lane to write an archive out."""

    def oldest_ms(self, lane: Lane) -> int:
        """When the oldest wake-up still in the lane's queue was published; 0 if it is empty or unknown."""


def lane_of(session: SessionKey) -> Lane:
    return Lane.SUBAGENT if is_subagent(session) else Lane.MAIN


def wake_all(waker: Waker, granted: Iterable[tuple[RunId, SessionKey]]) -> None:
    for run, session in granted:
        waker.turn(session, run)
