"""Carries a conversation's requests out with redis-py, one after the other."""

from __future__ import annotations

import time
from typing import Any

from openclaw_workers.client.blocking_follower import BlockingFollower
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
)
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import Tree
from openclaw_workers.store.tree_queries import Trees
from openclaw_workers.store.workers import Workers


class BlockingReader(BlockingFollower):
    def __init__(
        self, reader: Reader, inbox: Inbox, tree: Tree, trees: Trees, workers: Workers, *, timeout_seconds: float
    ) -> None:
        """`timeout_seconds` is the socket time-out of the Redis client; a read must return before it."""
        self._reader = reader
        self._inbox = inbox
        self._tree = tree
        self._trees = trees
        self._workers = workers
        # Four fifths of the timeout: Redis must answer an empty read before the socket gives up.
        self._most_ms = int(timeout_seconds * 800)

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
