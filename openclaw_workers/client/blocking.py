"""Carries a conversation's requests out with redis-py, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, TypeVar

from openclaw_workers.client.protocol import (
    ReadBatches,
    ReadChildren,
    ReadEvents,
    ReadLastEventId,
    ReadOpenBatches,
    ReadReceipt,
    ReadRun,
    ReadState,
    ReadWorkers,
    Request,
    Sleep,
    Stepper,
    Steps,
    Update,
)
from openclaw_workers.errors import OpenClawError
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import Tree
from openclaw_workers.store.tree_queries import Trees
from openclaw_workers.store.workers import Workers

T = TypeVar("T")


class BlockingReader:
    def __init__(
        self, reader: Reader, inbox: Inbox, tree: Tree, trees: Trees, workers: Workers, *, timeout_seconds: float
    ) -> None:
        """`timeout_seconds` is the socket time-out of the Redis client; a read must return before it."""
        self._reader = reader
        self._inbox = inbox
        self._tree = tree
        self._trees = trees
        self._workers = workers
        self._most_ms = int(timeout_seconds * 800)

    def follow(self, steps: Steps[Any]) -> Iterator[Update]:
        """The updates of a conversation, as they arrive."""
        stepper = Stepper(steps)
        step = stepper.advance()
        while step is not None:
            if isinstance(step, Request):
                step = self._answer(stepper, step)
            else:
                yield step
                step = stepper.advance()

    def result(self, steps: Steps[T]) -> T:
        """The value that the steps return, for steps without updates."""
        stepper = Stepper(steps)
        step = stepper.advance()
        while step is not None:
            assert isinstance(step, Request), "only a conversation has updates"
            step = self._answer(stepper, step)
        return stepper.result  # type: ignore[return-value]  # the last step has been taken

    def _answer(self, stepper: Stepper[Any], request: Request[Any]) -> Request[Any] | Update | None:
        try:
            answer = self._read(request)
        except OpenClawError as error:
            return stepper.fail(error)
        return stepper.advance(answer)

    def _read(self, request: Request[Any]) -> Any:  # noqa: PLR0911  # one return for each request
        match request:
            case ReadEvents(session, after, block_ms):
                return self._reader.events(session, after, block_ms=min(block_ms, self._most_ms))
            case ReadLastEventId(session):
                return self._reader.last_event_id(session)
            case ReadReceipt(session, message):
                return self._inbox.receipt(session, message)
            case ReadRun(run):
                return self._reader.run(run)
            case ReadState(session):
                return self._reader.control(session)
            case ReadWorkers():
                return self._workers.all()
            case ReadChildren(session):
                return self._tree.children(session)
            case ReadOpenBatches(session):
                return self._tree.batches(session)
            case ReadBatches(ids):
                return self._trees.batches(ids)
            case Sleep(seconds):
                return time.sleep(seconds)
        raise AssertionError(f"no reader for {request}")
