"""Whole trees at a glance, for people: every run that came of a session, and announces that are not delivered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionKey
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch, BatchState, announce_id
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import each_answer
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import as_batch

PAGE = 500


class Trees:
    """Reads level by level, so that a look costs by the depth of a tree, not by its size."""

    def __init__(self, redis: Client, keys: Keys, reader: Reader) -> None:
        self._redis = redis
        self._keys = keys
        self._reader = reader

    def batches(self, ids: Iterable[BatchId]) -> dict[BatchId, Batch]:
        """The records of these batches; expired and unreadable ones are left out."""
        wanted = list(dict.fromkeys(ids))
        raws = self._reader.hashes("batch", wanted, self._keys.batch)
        found = {batch_id: self._batch(batch_id, raw) for batch_id, raw in zip(wanted, raws, strict=True) if raw}
        return {batch_id: batch for batch_id, batch in found.items() if batch is not None}

    def _batch(self, batch_id: BatchId, raw: dict[str, str]) -> Batch | None:
        return self._reader.readable(f"batch {batch_id}", lambda: as_batch(raw), raw)

    def undelivered(self) -> list[Batch]:
        """Batches that have settled and wait for their announce, and those whose announce is blocked."""
        with store_errors():
            sessions = [str(key) for key in self._redis.zrange(self._keys.sessions, 0, -1)]
        found: list[BatchId] = []
        for start in range(0, len(sessions), PAGE):
            found += [BatchId(name) for name in self._members(self._keys.batches, sessions[start : start + PAGE])]
        return [
            batch for batch in self.batches(found).values() if batch.state in (BatchState.SETTLED, BatchState.BLOCKED)
        ]

    def runs(self, root: SessionKey) -> list[Run]:
        """Everything below a session, the runs of it that spawned or heard of something, and its last one."""
        below = self._below(root)
        children = [run for run in below if run.requester_session_key == root]
        heads = [run.parent_run_id for run in children if run.parent_run_id]
        heads += self._heard(root, [run.batch for run in children if run.batch])
        if last := self._reader.control(root).run:
            heads.append(RunId(last))
        known = {run.id for run in below}
        return self._reader.some_runs([run for run in dict.fromkeys(heads) if run not in known]) + below

    def _below(self, root: SessionKey) -> list[Run]:
        found: dict[RunId, Run] = {}
        level, seen = [root], {root}
        while level:
            ids = [RunId(name) for name in self._members(self._keys.children, level)]
            runs = self._reader.some_runs([run for run in ids if run not in found])
            found |= {run.id: run for run in runs}
            # A session is visited once, even if damaged records form a circle.
            level = [key for key in dict.fromkeys(run.session_key for run in runs) if key not in seen]
            seen.update(level)
        return list(found.values())

    def _heard(self, session: SessionKey, batches: Sequence[BatchId]) -> list[RunId]:
        """The runs that read these announces."""
        ids: list[MessageId] = [announce_id(batch) for batch in dict.fromkeys(batches)]
        if not ids:
            return []
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hmget(self._keys.receipts(session), [str(each) for each in ids])
            (raws,) = each_answer(pipe)
        found = [self._receipt(session, each, raw) for each, raw in zip(ids, raws or [], strict=False) if raw]
        return [receipt.run for receipt in found if receipt and receipt.run]

    def _receipt(self, session: SessionKey, message: MessageId, raw: str) -> Receipt | None:
        where = f"the receipt of {message} in {session}"
        return self._reader.readable(where, lambda: Receipt.model_validate_json(raw), raw)

    def _members(self, key_of: Any, sessions: Sequence[str]) -> list[str]:
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for session in sessions:
                pipe.zrange(key_of(session), 0, -1)
            return [str(name) for names in each_answer(pipe) for name in names or []]
