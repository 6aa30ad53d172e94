"""What a session says later, when its sub-agents have brought their results.

Which results are on their way is read from the batches' records; events are only shown.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from openclaw_workers.cli.conversation import wait
from openclaw_workers.cli.follow import AWAY_SECONDS, Ended, Follower
from openclaw_workers.cli.output import WaitOver
from openclaw_workers.domain.tree import Batch, BatchState, announce_id
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.tree_queries import Trees

if TYPE_CHECKING:
    from collections.abc import Callable

    from openclaw_workers.cli.render.screen import Screen
    from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.engine.stores import Stores


class Replies:
    """The turns in which a session reads its sub-agents' results, one after the other."""

    def __init__(
        self, stores: Stores, session: SessionKey, *, of_all: bool, seconds: float | None = None, block_ms: int = 2000
    ) -> None:
        """`of_all` waits for everything the session has spawned, otherwise only for what came of the runs it is told
        of by `follow`."""
        self.session = session
        self.runs: set[RunId] = set()
        """Turns that were shown."""
        self.blocked: list[Batch] = []
        """Results that could not be delivered."""
        self._stores = stores
        self._trees = Trees(stores.redis, stores.keys, stores.reader)
        self._of_all = of_all
        self._after = "0"
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._block_ms = min(block_ms, int(stores.settings.engine.accept_timeout_seconds * 800))
        self._known: set[BatchId] = set()
        self._done: set[BatchId] = set()
        self._is_away = False

    def follow(self, run: RunId, after: str) -> None:
        """Another turn was shown, up to this event: what it spawned is waited for."""
        self.runs.add(run)
        self._after = after if after != "0" else self._stores.reader.last_event_id(self.session)
        self._known.update(child.batch for child in self.children() if child.batch and child.parent_run_id == run)

    def children(self) -> list[Run]:
        """What was spawned by the turns that were shown, or all of it."""
        found = self._stores.tree.children(self.session)
        return [run for run in found if self._of_all or run.parent_run_id in self.runs]

    def at_work(self) -> int:
        """How many sub-agents have not reported."""
        return sum(len(batch.members) for batch in self._waited_for())

    def next(self, screen: Callable[[], Screen], *, go_on: Callable[[], bool] = lambda: True) -> Ended | None:
        """Show the next reply to its end; None when there is none to come, or `go_on` says no.

        Raises:
            WaitOver: the time is up and sub-agents go on.
        """
        notes = screen()
        while True:
            self._check_time()
            try:
                waited_for = self._waited_for()
                ready = [batch for batch in waited_for if batch.state is BatchState.DELIVERED]
                if not waited_for:
                    return None
                if not ready:
                    self._look_on(notes)
                self._is_away = False
            except StoreUnavailable as error:
                if not self._is_away:
                    notes.note(f"{error.message}; still trying, nothing is lost")
                self._is_away = True
                time.sleep(AWAY_SECONDS)
                continue
            if ready and (ended := self._read(min(ready, key=_announced), screen(), go_on)):
                return ended
            if not go_on():
                return None

    def _waited_for(self) -> list[Batch]:
        """Batches that are at work, or whose results the session has got and we have not shown."""
        ids = (self._known | set(self._stores.tree.batches(self.session))) - self._done
        found = self._trees.batches(ids)
        self._done |= ids - found.keys()
        waited_for = []
        for batch in found.values():
            if not (self._of_all or batch.parent_run in self.runs):
                continue
            self._known.add(batch.id)
            if batch.state.is_pending or batch.state is BatchState.DELIVERED:
                waited_for.append(batch)
            else:
                self._done.add(batch.id)
                self.blocked += [batch] if batch.state is BatchState.BLOCKED else []
        return waited_for

    def _read(self, batch: Batch, screen: Screen, go_on: Callable[[], bool]) -> Ended | None:
        """Show the turn that reads these results; None if it was shown already, as when they joined it."""
        self._done.add(batch.id)
        message = announce_id(batch.id)
        receipt = self._stores.inbox.receipt(self.session, message)
        if receipt is None or receipt.run in self.runs:
            return None
        follower = Follower(
            self._stores,
            self.session,
            message=message,
            run=receipt.run,
            after=self._after,
            seconds=self._seconds_left(),
            block_ms=self._block_ms,
            with_children=True,
        )
        ended = wait(follower, screen, on_quiet=lambda: (go_on(), None)[1])
        self._after = follower.after
        if ended.run is None:
            return ended
        if ended.run.id in self.runs:
            return None
        self.follow(ended.run.id, follower.after)
        return ended

    def _look_on(self, screen: Screen) -> None:
        for event in self._stores.reader.events(self.session, self._after, block_ms=self._block()):
            self._after = event.id
            if event.type.startswith("subagent."):
                screen.show(event)

    def _block(self) -> int:
        left = self._seconds_left()
        return self._block_ms if left is None else max(1, min(self._block_ms, int(left * 1000)))

    def _seconds_left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _check_time(self) -> None:
        if self._seconds_left() == 0.0:
            raise WaitOver(
                f"sub-agents of {self.session} have not reported within the given time; they go on",
                hint=f"`ocw runs tree {self.session}` shows them",
            )


def _announced(batch: Batch) -> int:
    return batch.announced_at or 0
