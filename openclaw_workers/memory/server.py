"""The index on a Qdrant server, through qdrant-client. Any worker may ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, TypeVar

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

DENSE, SPARSE = "dense", "text"
PAGE = 1_000
T = TypeVar("T")


class ServerBackend:
    name = "server"

    def __init__(self, url: str, api_key: str | None = None, *, timeout_seconds: int = 10) -> None:
        self._url = url
        self._api_key = api_key
        self._timeout = timeout_seconds
        self._found: Any = None
        self._opened: dict[str, ServerCollection] = {}
        self._opening = Lock()

    def open(self, name: str) -> Collection:
        with self._opening:
            if name not in self._opened:
                self._opened[name] = self._ask(lambda client: self._collection(client, name))
            return self._opened[name]

    def names(self) -> list[str]:
        found = self._ask(lambda client: client.get_collections().collections)
        return sorted(each.name for each in found if each.name.startswith(PREFIX))

    def drop(self, name: str) -> None:
        # First, so that nobody is handed a collection that is about to go.
        self._opened.pop(name, None)
        self._ask(lambda client: client.delete_collection(name))

    def close(self) -> None:
        if self._found is not None:
            self._found.close()
            self._found = None

    def _ask(self, call: Callable[[Any], T]) -> T:
        if self._found is None:
            from qdrant_client import QdrantClient  # noqa: PLC0415 - heavy

            # Without the check the constructor contacts nobody.
            self._found = QdrantClient(
                url=self._url, api_key=self._api_key, timeout=self._timeout, check_compatibility=False
            )
        return asked(self._url, lambda: call(self._found))

    def _collection(self, client: Any, name: str) -> ServerCollection:
        models, dimensions = _models(), dimensions_in(name)
        if not client.collection_exists(name):
            params = models.VectorParams(size=max(1, dimensions), distance=models.Distance.COSINE)
            client.create_collection(
                name,
                vectors_config={DENSE: params} if dimensions else {},
                sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            )
            for field in KEYWORD_FIELDS:
                client.create_payload_index(name, field, models.PayloadSchemaType.KEYWORD)
        return ServerCollection(client, name, self._url, has_dense=dimensions > 0)


class ServerCollection:
    def __init__(self, client: Any, name: str, url: str, *, has_dense: bool) -> None:
        self._client = client
        self._name = name
        self._url = url
        self.has_dense = has_dense

    def upsert(self, points: Sequence[Point]) -> None:
        if points:
            made = [_point(point) for point in points]
            asked(self._url, lambda: self._client.upsert(self._name, made, wait=True))

    def delete(self, where: Where) -> None:
        selector = _models().FilterSelector(filter=_filter(where))
        asked(self._url, lambda: self._client.delete(self._name, selector, wait=True))

    def delete_ids(self, ids: Sequence[str]) -> None:
        if ids:
            selector = _models().PointIdsList(points=list(ids))
            asked(self._url, lambda: self._client.delete(self._name, selector, wait=True))

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        requests = [_request(query) for query in queries]
        answers = asked(self._url, lambda: self._client.query_batch_points(self._name, requests))
        return [[Hit(str(hit.id), hit.score, hit.payload or {}) for hit in each.points] for each in answers]

    def payloads(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        if not ids:
            return {}
        wanted = list(ids)
        records = asked(
            self._url, lambda: self._client.retrieve(self._name, wanted, with_payload=True, with_vectors=False)
        )
        return {str(record.id): record.payload or {} for record in records}

    def scroll(self, where: Where) -> Iterator[tuple[str, dict[str, Any]]]:
        offset: Any = None
        while True:
            records, offset = asked(self._url, lambda at=offset: self._page(where, at))  # type: ignore[misc]
            yield from ((str(record.id), record.payload or {}) for record in records)
            if offset is None:
                return

    def _page(self, where: Where, offset: Any) -> Any:
        return self._client.scroll(
            self._name, scroll_filter=_filter(where), limit=PAGE, offset=offset, with_payload=True, with_vectors=False
        )

    def count(self, where: Where) -> int:
        counted = asked(self._url, lambda: self._client.count(self._name, count_filter=_filter(where), exact=True))
        return int(counted.count)

    def flush(self) -> None:
        """Nothing to do: each write waits until the server has it."""

    finish = flush


def asked(url: str, call: Callable[[], T]) -> T:
    from httpx import HTTPError  # noqa: PLC0415
    from qdrant_client.http.exceptions import ApiException  # noqa: PLC0415

    try:
        return call()
    # The client also raises ValueError, for an answer that it cannot parse.
    except (ApiException, HTTPError, ValueError) as error:
        reason = str(error).strip().splitlines()
        why = f"the Qdrant server {url} did not answer: {reason[0] if reason else type(error).__name__}"
        raise IndexUnavailable(why) from error


def _models() -> Any:
    from qdrant_client import models  # noqa: PLC0415 - heavy

    return models


def _point(point: Point) -> Any:
    models, vector = _models(), dict[str, Any]()
    if point.dense is not None:
        vector[DENSE] = point.dense
    if point.sparse is not None:
        vector[SPARSE] = models.SparseVector(indices=point.sparse.indices, values=point.sparse.values)
    return models.PointStruct(id=point.id, vector=vector, payload=point.payload)


def _request(query: Query) -> Any:
    models = _models()
    if isinstance(query.vector, SparseVector):
        vector = models.SparseVector(indices=query.vector.indices, values=query.vector.values)
        idf = models.IdfCorpusParams(corpus=_filter(query.corpus)) if query.corpus else None
        using, params = SPARSE, models.SearchParams(idf=idf)
    else:
        vector, using, params = query.vector, DENSE, models.SearchParams(exact=True)
    return models.QueryRequest(
        query=vector,
        using=using,
        filter=_filter(query.where),
        limit=query.limit,
        with_payload=query.with_payload,
        params=params,
    )


def _filter(where: Where) -> Any:
    return _models().Filter(
        must=[_condition(each) for each in where.must], must_not=[_condition(each) for each in where.unless]
    )


def _condition(condition: Condition) -> Any:
    models = _models()
    match = (
        models.MatchValue(value=condition.any_of[0])
        if len(condition.any_of) == 1
        else models.MatchAny(any=list(condition.any_of))
    )
    return models.FieldCondition(key=condition.name, match=match)
