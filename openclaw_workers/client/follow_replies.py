"""The turns in which a session reads the results of its sub-agents, one after the other.

The records of the batches say which results are still to come. Events are for display only.
"""

from __future__ import annotations

from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_message import BLOCK_MS, RETRY_SECONDS, Conversation
from openclaw_workers.client.protocol import (
    Ended,
    Note,
    Quiet,
    ReadBatches,
    ReadChildren,
    ReadEvents,
    ReadLastEventId,
    ReadOpenBatches,
    ReadReceipt,
    ReplyStarted,
    Sleep,
    Steps,
    ask,
)
from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch, BatchState, announce_id
from openclaw_workers.errors import StoreUnavailable


class LaterReplies:
    """Waits for what the runs given to `add_run` have spawned."""

    def __init__(self, session: SessionKey, *, deadline: Deadline | None = None, block_ms: int = BLOCK_MS) -> None:
        self.session = session
        self.blocked: list[Batch] = []
        """Results that could not be delivered."""
        self._runs: set[RunId] = set()
        """Turns that were shown."""
        self._after = "0"
        self._deadline = deadline or Deadline()
        self._block_ms = block_ms
        self._known: set[BatchId] = set()
        self._done: set[BatchId] = set()
        self._is_redis_away = False

    def add_run(self, run: RunId, after: str) -> Steps[None]:
        """A turn was shown, up to this event: wait for what it has spawned."""
        self._runs.add(run)
        self._after = after if after != "0" else (yield from ask(ReadLastEventId(self.session)))
        children = yield from self.children()
        self._known.update(child.batch for child in children if child.batch and child.parent_run_id == run)

    def children(self) -> Steps[list[Run]]:
        """What the turns that were shown have spawned."""
        found = yield from ask(ReadChildren(self.session))
        return [run for run in found if run.parent_run_id in self._runs]

    def count_active(self) -> Steps[int]:
        """How many sub-agents have not reported."""
        awaited = yield from self._awaited()
        return sum(len(batch.members) for batch in awaited)

    def next_reply(self) -> Steps[Ended | None]:
        """Report the next reply up to its end. Without another one to come, the updates end without `Ended`.

        Raises:
            WaitOver: the time is up and sub-agents continue.
        """
        while True:
            self._check_time()
            try:
                awaited = yield from self._awaited()
                if not awaited:
                    return None
                ready = [batch for batch in awaited if batch.state is BatchState.DELIVERED]
                if not ready:
                    yield from self._watch()
                self._is_redis_away = False
            except StoreUnavailable as error:
                if not self._is_redis_away:
                    yield Note(f"{error.message}; still trying, nothing is lost")
                self._is_redis_away = True
                yield from ask(Sleep(RETRY_SECONDS))
                continue
            if ready and (ended := (yield from self._reply_to(min(ready, key=_announced_at)))):
                yield ended
                return ended
            yield Quiet()

    def _awaited(self) -> Steps[list[Batch]]:
        """Batches that are active, and those that were delivered to the session and are not shown yet."""
        listed = yield from ask(ReadOpenBatches(self.session))
        ids = frozenset(self._known | set(listed)) - self._done
        found = yield from ask(ReadBatches(ids))
        # A batch without a record has expired; asking again would wait for ever.
        self._done |= ids - found.keys()
        awaited = []
        for batch in found.values():
            if batch.parent_run not in self._runs:
                continue
            self._known.add(batch.id)
            if batch.state.is_pending or batch.state is BatchState.DELIVERED:
                awaited.append(batch)
            else:
                self._done.add(batch.id)
                self.blocked += [batch] if batch.state is BatchState.BLOCKED else []
        return awaited

    def _reply_to(self, batch: Batch) -> Steps[Ended | None]:
        """Report the turn that reads these results; None if it was shown already because the results joined it."""
        self._done.add(batch.id)
        message = announce_id(batch.id)
        receipt = yield from ask(ReadReceipt(self.session, message))
        # Results that arrive during a turn are steered into it, and that turn was shown.
        if receipt is None or receipt.run in self._runs:
            return None
        reply = Conversation(
            self.session,
            message=message,
            run=receipt.run,
            after=self._after,
            deadline=self._deadline,
            block_ms=self._block_ms,
            with_children=True,
        )
        yield ReplyStarted()
        ended = yield from reply.outcome()
        self._after = reply.after
        if ended.run is None:
            return ended
        # Checked again: which run takes the message may be known only at its end.
        if ended.run.id in self._runs:
            return None
        yield from self.add_run(ended.run.id, reply.after)
        return ended

    def _watch(self) -> Steps[None]:
        """Report what the sub-agents do for a moment."""
        block_ms = self._deadline.block_ms(self._block_ms)
        for event in (yield from ask(ReadEvents(self.session, self._after, block_ms))):
            self._after = event.id
            if event.type.startswith("subagent."):
                yield event

    def _check_time(self) -> None:
        if self._deadline.is_over:
            raise WaitOver(
                f"sub-agents of {self.session} have not reported within the given time; they continue",
                hint=f"`ocw runs tree {self.session}` shows them",
            )


def _announced_at(batch: Batch) -> int:
    return batch.announced_at or 0
