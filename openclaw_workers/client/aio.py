"""Carries a conversation's requests out on asyncio, so that one process can follow many conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError
from redis.asyncio import Redis

from openclaw_workers.client.async_follower import AsyncFollower
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
from openclaw_workers.domain.events import Event, SessionState
from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionKey
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.client import store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import usable
from openclaw_workers.store.reader import STATE_FIELDS, parse_event, parse_run, parse_state
from openclaw_workers.store.run_texts import ask_for_entries, lacks_text, with_text_from
from openclaw_workers.store.tree import as_batch
from openclaw_workers.store.workers import worker_infos

T = TypeVar("T")


class AsyncReader(AsyncFollower):
    """Reads what `BlockingReader` reads. A damaged record counts as missing; it is not quarantined here."""

    def __init__(self, redis: Redis, keys: Keys, *, timeout_seconds: float) -> None:
        """`redis` decodes its responses; `timeout_seconds` is its socket time-out."""
        self._redis = redis
        self._keys = keys
        # A blocking read must end before the socket's own timeout, so it gets four fifths of it.
        self._most_ms = int(timeout_seconds * 800)

    async def _read(self, request: Request[Any]) -> Any:
        with store_errors():
            return await self._read_redis(request)

    async def _read_redis(self, request: Request[Any]) -> Any:  # noqa: PLR0911  # one return for each request
        match request:
            case ReadEvents(session, after, block_ms):
                return await self._events(session, after, min(block_ms, self._most_ms))
            case ReadLastEventId(session):
                last: Any = await self._redis.xrevrange(self._keys.events(session), count=1)
                return str(last[0][0]) if last else "0"
            case ReadReceipt(session, message):
                return await self._receipt(session, message)
            case ReadRun(run):
                return await self._run(run)
            case ReadState(session):
                return await self._state(session)
            case ReadWorkers():
                return await self._workers()
            case ReadChildren(session):
                return await self._runs([RunId(name) for name in await self._members(self._keys.children(session))])
            case ReadOpenBatches(session):
                return [BatchId(name) for name in await self._members(self._keys.batches(session))]
            case ReadBatches(ids):
                return await self._batches(list(ids))
            case Sleep(seconds):
                return await asyncio.sleep(seconds)
        raise AssertionError(f"no reader for {request}")

    async def _events(self, session: SessionKey, after: str, block_ms: int) -> list[Event]:
        # Bounded, so that a viewer who was away for long does not get the whole stream in one reply.
        reply: Any = await self._redis.xread({self._keys.events(session): after}, count=500, block=block_ms)
        return [parse_event(str(event_id), fields) for _, items in reply or [] for event_id, fields in items]

    async def _receipt(self, session: SessionKey, message: MessageId) -> Receipt | None:
        reply: Any = self._redis.hget(self._keys.receipts(session), message)
        raw = await reply
        try:
            return Receipt.model_validate_json(raw) if raw else None
        except ValidationError as error:
            raise CorruptRecord(f"the receipt of {message} in {session}", str(error)) from error

    async def _state(self, session: SessionKey) -> SessionState:
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.hmget(self._keys.ctl(session), STATE_FIELDS)
            pipe.zcard(self._keys.inbox(session))
            found, waiting = usable(await pipe.execute(raise_on_error=False))
        return parse_state(found, waiting)

    async def _workers(self) -> list[WorkerInfo]:
        beats: Any = await self._redis.zrange(self._keys.workers, 0, -1, desc=True, withscores=True)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            for worker, _ in beats:
                pipe.hgetall(self._keys.worker(str(worker)))
            now, *facts = usable(await pipe.execute(raise_on_error=False))
        return worker_infos(beats, now, facts)

    async def _members(self, key: str) -> list[str]:
        found: Any = await self._redis.zrange(key, 0, -1)
        return [str(name) for name in found]

    async def _run(self, run_id: RunId) -> Run | None:
        run = next(iter(await self._runs([run_id])), None)
        if run is None or not lacks_text(run):
            return run
        async with self._redis.pipeline(transaction=False) as pipe:
            ask_for_entries(pipe, self._keys, run)
            return with_text_from(run, usable(await pipe.execute(raise_on_error=False)))

    async def _runs(self, ids: Sequence[RunId]) -> list[Run]:
        records = await self._hashes([self._keys.run(run) for run in ids] + [self._keys.run_texts(run) for run in ids])
        both = zip(records[: len(ids)], records[len(ids) :], strict=True)
        runs = [_readable(parse_run, {**record, **(texts or {})}) for record, texts in both if record]
        return [run for run in runs if run is not None]

    async def _batches(self, ids: Sequence[BatchId]) -> dict[BatchId, Batch]:
        raws = await self._hashes([self._keys.batch(batch) for batch in ids])
        found = {batch_id: _readable(as_batch, raw) for batch_id, raw in zip(ids, raws, strict=True) if raw}
        return {batch_id: batch for batch_id, batch in found.items() if batch is not None}

    async def _hashes(self, keys: Sequence[str]) -> list[dict[str, str] | None]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.hgetall(key)
            return usable(await pipe.execute(raise_on_error=False))


def _readable(parse: Callable[[dict[str, str]], T], raw: dict[str, str]) -> T | None:
    try:
        return parse(raw)
    # One damaged record must not hide the others.
    except (ValidationError, CorruptRecord, ValueError, RecursionError):
        return None
