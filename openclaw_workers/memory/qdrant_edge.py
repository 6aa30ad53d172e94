"""The embedded index: Qdrant Edge in this process, one directory for each collection.

Only one process can open it: it holds a lock. So the service worker that owns the index opens it, and others ask that
worker. There is no write-ahead log, which would be as large as the index and stay in memory. What was not flushed when
a process died is indexed again: the point that marks a document as indexed is written after a flush.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import structlog

from openclaw_workers.memory.backend import PREFIX, Collection, dimensions_in
from openclaw_workers.memory.points import (
    KEYWORD_FIELDS,
    Condition,
    Hit,
    IndexUnavailable,
    Point,
    Query,
    SparseVector,
    Where,
)

log = structlog.get_logger(__name__)

DENSE, SPARSE = "dense", "text"
LOCK = "memory.lock"
PAGE = 1_000
LOAD_AGAIN_POINTS = 4_096
"""Searches take up to twice as long over points that were written since the shard was loaded."""


class EdgeBackend:
    name = "embedded"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: dict[str, EdgeCollection] = {}
        self._opening = Lock()
        self._locked: int | None = None

    def open(self, name: str) -> Collection:
        with self._opening:
            if name not in self._open:
                self._lock()
                dimensions = dimensions_in(name)
                shard = self._shard(self._directory / name, dimensions)
                self._open[name] = EdgeCollection(shard, self._directory / name, has_dense=dimensions > 0)
            return self._open[name]

    def names(self) -> list[str]:
        return sorted(path.name for path in self._directory.glob(f"{PREFIX}*") if path.is_dir())

    def drop(self, name: str) -> None:
        with self._opening:
            if found := self._open.pop(name, None):
                found.close()
            shutil.rmtree(self._directory / name, ignore_errors=True)

    def close(self) -> None:
        with self._opening:
            for each in self._open.values():
                each.close()
            self._open.clear()
            if self._locked is not None:
                os.close(self._locked)
                self._locked = None

    def _lock(self) -> None:
        """Keep others out until `close` or the end of this process.

        Raises:
            IndexUnavailable: another process was first.
        """
        if self._locked is not None:
            return
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Never deleted: a lock on a file that another process has replaced would lock nothing.
            held = os.open(self._directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise IndexUnavailable(f"the index {self._directory} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(held)
            raise IndexUnavailable(_held(self._directory)) from error
        self._locked = held

    def _shard(self, path: Path, dimensions: int) -> Any:
        """Open the directory, or make it. One that cannot be read is made again: the files are the truth."""
        if path.exists():
            try:
                return _edge().EdgeShard.load(str(path))
            except Exception as error:
                if "WouldBlock" in str(error):
                    raise IndexUnavailable(_held(path)) from error  # one of an earlier version
                log.warning("memory.index_rebuilt", path=str(path), error=str(error))
                shutil.rmtree(path, ignore_errors=True)
        return _create(path, dimensions)


def _held(path: Path) -> str:
    return f"another process of this host holds the index {path}; it is released when that process ends"


def _create(path: Path, dimensions: int) -> Any:
    edge = _edge()
    dense = {DENSE: _dense(edge, dimensions)} if dimensions else {}
    sparse = {SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    try:
        config = edge.EdgeConfig(vectors=dense, sparse_vectors=sparse, on_disk_payload=True, wal_enabled=False)
        shard = edge.EdgeShard.create(str(path), config)
        for name in KEYWORD_FIELDS:
            shard.update(edge.UpdateOperation.create_field_index(name, edge.PayloadSchemaType.Keyword))
    except Exception as error:
        raise IndexUnavailable(f"the index {path} cannot be created: {error}") from error
    return shard


def _dense(edge: Any, dimensions: int) -> Any:
    """Numbers of two bytes: half the memory, and the same results."""
    half = edge.VectorStorageDatatype.Float16
    return edge.EdgeVectorParams(size=dimensions, distance=edge.Distance.Cosine, on_disk=True, datatype=half)


class EdgeCollection:
    def __init__(self, shard: Any, path: Path, *, has_dense: bool) -> None:
        self._shard = shard
        self._path = path
        self.has_dense = has_dense
        self._written = 0
        # A shard answers one call at a time anyway. The lock keeps calls away from one that is being loaded again.
        self._using = Lock()

    def upsert(self, points: Sequence[Point]) -> None:
        edge = _edge()
        if points:
            self._update(edge.UpdateOperation.upsert_points([_point(edge, point) for point in points]))
            self._written += len(points)

    def delete(self, where: Where) -> None:
        edge = _edge()
        self._update(edge.UpdateOperation.delete_points_by_filter(_filter(edge, where)))

    def delete_ids(self, ids: Sequence[str]) -> None:
        if ids:
            self._update(_edge().UpdateOperation.delete_points(list(ids)))

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        edge = _edge()
        with self._used() as shard:
            answers = shard.query_batch(edge.QueryBatchRequest([_request(edge, query) for query in queries]))
        return [[Hit(str(hit.id), hit.score, hit.payload or {}) for hit in hits] for hits in answers]

    def payloads(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        if not ids:
            return {}
        with self._used() as shard:
            records = shard.retrieve(list(ids), True, False)  # with the payload, without the vectors
        return {str(record.id): record.payload or {} for record in records}

    def scroll(self, where: Where) -> Iterator[tuple[str, dict[str, Any]]]:
        edge, offset = _edge(), None
        while True:
            request = edge.ScrollRequest(
                offset=offset, limit=PAGE, filter=_filter(edge, where), with_payload=True, with_vector=False
            )
            with self._used() as shard:
                records, offset = shard.scroll(request)
            yield from ((str(record.id), record.payload or {}) for record in records)
            if offset is None:
                return

    def count(self, where: Where) -> int:
        edge = _edge()
        with self._used() as shard:
            return int(shard.count(edge.CountRequest(exact=True, filter=_filter(edge, where))))

    def flush(self) -> None:
        with self._used() as shard:
            shard.flush()

    def finish(self) -> None:
        """After many changes, load the shard again: it is searched faster then, and takes less memory."""
        with self._used() as shard:
            shard.flush()
            if self._written >= LOAD_AGAIN_POINTS:
                shard.close()
                self._shard = _edge().EdgeShard.load(str(self._path))
                self._written = 0

    def close(self) -> None:
        with self._using:
            self._shard.close()

    def _update(self, operation: Any) -> None:
        with self._used() as shard:
            shard.update(operation)

    @contextmanager
    def _used(self) -> Iterator[Any]:
        """Qdrant Edge raises plain exceptions."""
        with self._using:
            try:
                yield self._shard
            except Exception as error:
                raise IndexUnavailable(f"the embedded index failed: {error}") from error


def _edge() -> Any:
    """Imported when it is first used: it must not slow the start of a worker or a command."""
    import qdrant_edge  # noqa: PLC0415

    return qdrant_edge


def _point(edge: Any, point: Point) -> Any:
    vector: dict[str, Any] = {}
    if point.dense is not None:
        vector[DENSE] = point.dense
    if point.sparse is not None:
        vector[SPARSE] = edge.SparseVector(indices=point.sparse.indices, values=point.sparse.values)
    return edge.Point(id=point.id, vector=vector, payload=point.payload)


def _request(edge: Any, query: Query) -> Any:
    if isinstance(query.vector, SparseVector):
        vector = edge.SparseVector(indices=query.vector.indices, values=query.vector.values)
        nearest = edge.Query.Nearest(vector, using=SPARSE)
        corpus = _filter(edge, query.corpus) if query.corpus else None
        params = edge.SearchParams(idf=edge.IdfParams(corpus=corpus))
    else:
        # Exact: an agent's memory is small, and an approximate search loses hits under a narrow filter.
        nearest, params = edge.Query.Nearest(query.vector, using=DENSE), edge.SearchParams(exact=True)
    return edge.QueryRequest(
        limit=query.limit,
        query=nearest,
        filter=_filter(edge, query.where),
        with_payload=query.with_payload,
        params=params,
    )


def _filter(edge: Any, where: Where) -> Any:
    return edge.Filter(
        must=[_condition(edge, each) for each in where.must],
        must_not=[_condition(edge, each) for each in where.unless],
    )


def _condition(edge: Any, condition: Condition) -> Any:
    match = (
        edge.MatchValue(condition.any_of[0]) if len(condition.any_of) == 1 else edge.MatchAny(list(condition.any_of))
    )
    return edge.FieldCondition(condition.name, match=match)
