"""Announces a settled batch: its results reach the parent exactly once, even if workers die in between.

The chord's body calls this, and so does the sweep two seconds after the last child has settled. The batch record is the
outbox: pending until the results are in the parent's inbox, blocked after the last failed try, kept for seven days. A
child that waits for a blocked batch ends with an error, so that its own parent gets an answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import structlog
from redis.exceptions import ResponseError

from openclaw_workers.domain.ids import BatchId, RunId, SessionKey, new_run_id
from openclaw_workers.domain.messages import InboundMessage, least_authority
from openclaw_workers.domain.runs import Run, lane_of
from openclaw_workers.domain.tree import Batch, BatchState, announce_id, own_batch
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.deadline import within
from openclaw_workers.engine.delivery.chats import ChatDelivery
from openclaw_workers.engine.routing.row_fields import last_route
from openclaw_workers.engine.tree.report import partial_of, report
from openclaw_workers.engine.tree.subagent_hooks import fire
from openclaw_workers.engine.wake import Waker, wake_run
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.inbox import stored_form
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import Announced, Tree, Vanished

log = structlog.get_logger(__name__)

TRIES_AFTER_MS = (15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000, 300_000)
"""Half an hour in all; after that a person must act."""


class Announcer:
    def __init__(
        self,
        *,
        tree: Tree,
        due: DueItems,
        reader: Reader,
        keys: Keys,
        agents: AgentConfigs,
        waker: Waker,
        chats: ChatDelivery,
    ) -> None:
        self._tree = tree
        self._due = due
        self._reader = reader
        self._keys = keys
        self._agents = agents
        self._waker = waker
        self._chats = chats

    def announce(self, batch_id: BatchId) -> BatchState | None:
        """Announce a batch if all of it has settled; None when there was nothing to do.

        Raises:
            StoreUnavailable: nothing is known; it stays due.
        """
        try:
            batch = self._tree.batch(batch_id)
            if batch is None:
                # It was announced and forgotten meanwhile; without this it would stay due for ever.
                self._due.done(f"batch|{batch_id}")
                return None
            return within(self._limit_seconds(batch), lambda: self._announce(batch))
        except (CorruptRecord, ResponseError, ValueError) as error:
            # Only what a retry may not mend counts as a failed try. That Redis is away does not.
            self._failed(batch_id, str(error))
            return None

    def _limit_seconds(self, batch: Batch) -> float:
        return self._agents.of_session(batch.parent_session).subagents.announce_timeout_ms / 1000

    def _announce(self, batch: Batch) -> BatchState | None:
        members = self._tree.members(batch)
        if len(members) < len(batch.members):
            # A parent must not take a partial report for the whole: rather no report, and a person looks.
            raise CorruptRecord(f"batch {batch.id}", "not all of its runs can be read")
        if any(run.settled_at is None for run in members):
            return None
        hearer = batch.parent_session
        try:
            announced = self._deliver(batch, hearer, members)
        except Vanished:
            # The parent was deleted. Its own parent is the nearest session that still waits for the work.
            hearer = batch.above
            announced = self._deliver(batch, hearer, members)
        if announced is None:
            return None
        self._after(batch, hearer, announced, members)
        return announced.how

    def _deliver(self, batch: Batch, hearer: SessionKey, members: Sequence[Run]) -> Announced | None:
        # The script needs the id of a run before it knows whether the parent needs a new one.
        opening, message = new_run_id(), self._message(batch, hearer, members)
        return self._tree.announce(
            batch,
            hearer,
            lane_of(hearer),
            stored_form(message),
            message.id,
            authority=message.authority,
            wake=self._waker.wake_text(hearer, opening),
            run=opening,
            shown=[_brief(run) for run in members],
            to_chat=self._chats.of_late_results(hearer),
        )

    def _after(self, batch: Batch, hearer: SessionKey, announced: Announced, members: Sequence[Run]) -> None:
        log.info(
            "subagent.announced",
            batch=batch.id,
            how=announced.how,
            parent=hearer,
            runs=len(members),
            parentRunId=batch.parent_run,
        )
        for run_id in (announced.wake, batch.parent_run if announced.settles_parent else None):
            self._wake(hearer, run_id)
        # Nobody reads Celery's records of the chord, and a late header must not count again.
        self._waker.forget_chord(batch.id)
        if not batch.ends_reported:  # last, so that a slow plugin delays nobody
            _fire_hooks(members)

    def _wake(self, session: SessionKey, run_id: RunId | None) -> None:
        run = self._reader.run(run_id) if run_id else None
        if run is not None:
            wake_run(self._waker, run)
        elif run_id is not None:
            self._waker.turn(session, run_id)

    def _message(self, batch: Batch, hearer: SessionKey, members: Sequence[Run]) -> InboundMessage:
        return InboundMessage(
            id=announce_id(batch.id),
            session_key=hearer,
            text=report([(run, self._descendants(run)) for run in members]),
            route=last_route(self._reader.row(hearer)),
            sender="sub-agents",
            # A report gives the parent's turn no more authority than the least of those that wrote it.
            authority=least_authority(run.authority for run in members),
            kind="internal",
            metadata={
                "provenance": "subagent",
                "batch": batch.id,
                "batch_key": self._keys.batch(batch.id),
                # For viewers, if the message is discarded before a turn reads it.
                "runs": json.dumps([_brief(run) for run in members]),
            },
        )

    def _descendants(self, run: Run) -> list[Run]:
        """Results that did not reach the child itself: its run was over, or it asked for no turn on them."""
        tree, unheard = self._tree, []
        for child in tree.children(run.session_key):
            batch = tree.batch(child.batch) if child.batch and child.parent_run_id == run.id else None
            carries = batch is not None and batch.state in (BatchState.FOLDED, BatchState.ATTACHED)
            if batch is not None and carries and batch.folded_into in (None, run.id):
                unheard.append(child)
        for batch in filter(None, map(tree.batch, run.folded)):
            unheard += tree.members(batch)
        return [each for child in unheard for each in (child, *self._descendants(child))]

    def _failed(self, batch_id: BatchId, error: str) -> None:
        tries = self._tree.tries(batch_id)
        delay = TRIES_AFTER_MS[tries] if tries < len(TRIES_AFTER_MS) else None
        log.error("announce.failed", batch=batch_id, error=error, again_in_ms=delay)
        if delay is not None:
            self._tree.announce_failed(batch_id, error, delay)
            return
        # Read before and after: only the process that blocks the batch fires the hooks of its end.
        before = self._readable(batch_id)
        to_chat = partial(self._chats.of_blocked_results, batch_id, error)
        settled = self._tree.block(batch_id, error, partial(partial_of, self._reader), to_chat)
        run = self._reader.run(settled) if settled else None
        if run is not None:
            wake_run(self._waker, run)
        blocked = self._readable(batch_id)
        if before and blocked and blocked.state is BatchState.BLOCKED and not before.ends_reported:
            _fire_hooks(self._tree.members(blocked))

    def _readable(self, batch_id: BatchId) -> Batch | None:
        try:
            return self._tree.batch(batch_id)
        except (CorruptRecord, ValueError):
            return None


def _fire_hooks(ended: Sequence[Run]) -> None:
    for run in ended:
        if run.batch == own_batch(run.id) and not run.attempts:
            fire("subagent_spawned", run)  # no worker has taken it, so none has fired this
        fire("subagent_ended", run)


def _brief(run: Run) -> dict[str, object]:
    return {
        "run": run.id,
        "session": run.session_key,
        "label": run.label,
        "status": run.outcome,
        "reason": run.ended_reason,
        "subSessionId": run.session_id,
        "durationMs": None if run.started_at is None or run.ended_at is None else run.ended_at - run.started_at,
        "tokens": run.usage.total,
        "cost": run.cost,
        "metadata": run.metadata,
    }
