"""All that the engine needs from a message queue: wake-ups, which may be lost, repeated or late."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.runs import Lane, Run, lane_of
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.tree import own_batch

_LONG_ID = re.compile(r"([0-9a-f]{8})[0-9a-f-]{8,}")


class Waker(Protocol):
    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        """Ask a worker of the lane to run it. False if the queue could not be reached; the sweep tries again.

        `place`: ask one that sees this place; "" any; None as far as is known, one that sees the files of the agent.
        Whoever gets it and does not see them passes it on.
        """

    def wake_text(self, session: SessionKey, run: RunId) -> str:
        """The same wake-up as text, which a script pushes into the lane's queue; "" if that is not possible."""

    def chord(self, batch: BatchId, headers: Sequence[tuple[SessionKey, RunId]]) -> bool:
        """Publish the children of a batch, each counted when its task returns; the last one fires the announce."""

    def header(self, session: SessionKey, run: RunId, batch: BatchId, index: int) -> bool:
        """Publish one child of a batch again, so that the chord counts it."""

    def forget_chord(self, batch: BatchId) -> None:
        """Delete the chord's keys after the batch was announced."""

    def memory_note(self, session_id: str) -> bool:
        """Ask a service worker to save an ended conversation to memory."""

    def oldest_ms(self, session: SessionKey) -> int:
        """When the oldest wake-up in the queue of a session was published; 0 if that is empty or unknown."""


def named(session: SessionKey, run: RunId) -> dict[str, str]:
    """The fields by which every log line names a run."""
    lane = lane_of(session)
    kind = "subagent" if lane is Lane.SUBAGENT else "main"
    return {"runId": run, "sessionKey": session, "agentId": agent_of(session), "lane": lane, "runKind": kind}


def shown_args(session: SessionKey) -> str:
    """What Flower and Celery's events show of a turn: its session, never what was said. Long ids are cut short."""
    return f"({_LONG_ID.sub(lambda found: found[1] + '…', session)})"


def wake_all(waker: Waker, granted: Iterable[tuple[RunId, SessionKey]]) -> None:
    for run, session in granted:
        waker.turn(session, run)


def wake_run(waker: Waker, run: Run) -> None:
    """Wake a run as what it is: a child's as the header of its chord, which then counts it when it ends."""
    # A child that got a message after it had ended: its new run has a batch of its own, and no chord was published for
    # it.
    if run.batch == own_batch(run.id):
        waker.chord(run.batch, [(run.session_key, run.id)])
    elif run.batch is not None:
        waker.header(run.session_key, run.id, run.batch, run.batch_index)
    else:
        waker.turn(run.session_key, run.id)
