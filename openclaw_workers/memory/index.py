"""Bring an agent's part of a collection up to date with its documents: only what has changed, deletions included.

Each indexed document has a point of its own that says which version is indexed. It is written after the chunks were
flushed, so a process that dies in between leaves a document that the next sync indexes again, under the same ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID, uuid5

import structlog

from openclaw_workers.memory import backend, sparse
from openclaw_workers.memory.chunks import Chunk
from openclaw_workers.memory.embedders.base import Embedder, EmbedderUnavailable
from openclaw_workers.memory.points import CHUNK, FILE, Point, where

log = structlog.get_logger(__name__)

READY = "ready"
"""The kind of the point that says that an agent's documents have all been indexed once."""
GROUP_CHUNKS = 256
"""Chunks of several documents that are embedded and written together."""
FLUSH_CHUNKS = 2_048
"""Chunks after which their documents count as indexed. A flush waits for the disk."""
# Never change it: ids of points that are already indexed are derived from it.
_IDS = UUID("6f1d6ad6-3a5e-4d0c-9c4f-0d6b4c1f7c11")


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be indexed of a document."""

    chunks: list[Chunk]
    scope: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Kept with the document's point, for its next reading."""
    is_addition: bool = False
    """The chunks are added to those already indexed."""


class Document(Protocol):
    """A file or a transcript."""

    @property
    def source(self) -> str:
        """memory or sessions."""

    @property
    def path(self) -> str: ...

    @property
    def version(self) -> str:
        """Another version means: read it again."""

    @property
    def time_ms(self) -> int:
        """When it was last changed."""

    def read(self, known: Mapping[str, Any] | None) -> Reading | None:
        """The content; `known` are the facts of the last reading. None: it is gone."""


@dataclass(slots=True)
class SyncReport:
    documents: int = 0
    indexed: int = 0
    removed: int = 0
    chunks: int = 0
    unembedded: str = ""
    """Why chunks have no dense vector, if some have none."""


def fingerprint(model: str, tokens: int, overlap: int) -> str:
    """Names what an index depends on: with another model, chunking or tokenizer there is another index."""
    return sha256(f"{model}\0{tokens}\0{overlap}\0{sparse.VERSION}".encode()).hexdigest()[:12]


class MemoryIndex:
    """One agent's documents in one collection."""

    def __init__(self, collection: backend.Collection, agent_id: str, embedder: Embedder | None) -> None:
        self.collection = collection
        self._agent = agent_id
        self._embedder = embedder if collection.has_dense else None

    def is_ready(self) -> bool:
        return self.collection.count(where(kind=READY, agent=self._agent)) > 0

    def known(self, *sources: str) -> dict[tuple[str, str], dict[str, Any]]:
        """The documents of these sources that are indexed, by source and path."""
        asked = where(kind=FILE, agent=self._agent, source=sources)
        found = (payload for _, payload in self.collection.scroll(asked))
        return {(payload["source"], payload["path"]): payload for payload in found}

    def sync(
        self,
        documents: Sequence[Document],
        *,
        complete: Collection[str] = (),
        progress: Callable[[int, int], None] = lambda done, all_of: None,
        force: bool = False,
    ) -> SyncReport:
        """Index what has changed. `complete`: sources of which all documents are given, so that others are gone.

        Raises:
            IndexUnavailable: the index cannot be written; what is missing is indexed next time.
        """
        known = self.known(*complete, *{each.source for each in documents}.difference(complete))
        report = SyncReport(len(documents))
        given = {(each.source, each.path) for each in documents}
        # Only where all documents are given does a missing one mean that it was deleted.
        for source, path in known.keys() - given:
            if source in complete:
                self._remove(source, path)
                report.removed += 1
        changed = [each for each in documents if force or self._has_changed(each, known.get((each.source, each.path)))]
        written: list[Point] = []
        flushed = 0
        for done, group in self._groups(changed, known, report):
            written += self._write(group, report)
            if report.chunks - flushed >= FLUSH_CHUNKS:
                self._note_documents(written)
                written, flushed = [], report.chunks
            progress(done, len(changed))
        if written:
            self._note_documents(written)
        # After all writes: until then searches may use an older index instead.
        if not self.is_ready():
            ready = {"kind": READY, "agent": self._agent}
            self.collection.upsert([Point(_id(self._agent, READY), ready)])
        if report.indexed or report.removed:
            self.collection.finish()
        return report

    def forget_agent(self) -> None:
        self.collection.delete(where(agent=self._agent))

    def _has_changed(self, document: Document, known: Mapping[str, Any] | None) -> bool:
        if known is None or known["version"] != document.version:
            return True
        # It was indexed by words alone while the embedder was down. Now it can get its vectors.
        return self._embedder is not None and not known.get("embedded", True)

    def _groups(
        self,
        changed: Sequence[Document],
        known: Mapping[tuple[str, str], dict[str, Any]],
        report: SyncReport,
    ) -> Iterator[tuple[int, list[tuple[Document, Reading]]]]:
        """Documents with their content, as many together as make a good batch."""
        group: list[tuple[Document, Reading]] = []
        for done, document in enumerate(changed, 1):
            reading = document.read(known.get((document.source, document.path)))
            if reading is None:
                self._remove(document.source, document.path)
                report.removed += 1
            else:
                group.append((document, reading))
            if group and (done == len(changed) or sum(len(each.chunks) for _, each in group) >= GROUP_CHUNKS):
                yield done, group
                group = []
        if group:
            yield len(changed), group

    def _note_documents(self, written: Sequence[Point]) -> None:
        """Note which documents are indexed, once their chunks are on the disk."""
        self.collection.flush()
        self.collection.upsert(written)

    def _write(self, group: Sequence[tuple[Document, Reading]], report: SyncReport) -> list[Point]:
        """Write the chunks of documents; returns the points that note that they are indexed."""
        chunks = [chunk for _, reading in group for chunk in reading.chunks]
        vectors = self._vectors([chunk.searched for chunk in chunks], report)
        points: list[Point] = []
        for document, reading in group:
            ids = _ids(self._agent, document, reading.chunks)
            made = [
                self._point(each, document, reading, chunk, next(vectors))
                for each, chunk in zip(ids, reading.chunks, strict=True)
            ]
            points += made
        self._upsert(points)
        written = {point.id for point in points}
        for document, reading in group:
            if not reading.is_addition:
                # After the new chunks are written, so that a search in between finds the old text and not nothing.
                self._delete_others(document, written)
        report.indexed += len(group)
        report.chunks += len(chunks)
        return [self._file_point(*each, is_embedded=not report.unembedded) for each in group]

    def _vectors(self, texts: Sequence[str], report: SyncReport) -> Iterator[list[float] | None]:
        if self._embedder is not None and texts:
            try:
                return iter(self._embedder.embed(texts))
            except EmbedderUnavailable as error:
                report.unembedded = str(error)
                log.warning("memory.not_embedded", error=str(error), chunks=len(texts))
        return iter([None] * len(texts))

    def _upsert(self, points: Sequence[Point]) -> None:
        for start in range(0, len(points), GROUP_CHUNKS):
            self.collection.upsert(points[start : start + GROUP_CHUNKS])

    def _delete_others(self, document: Document, written: set[str]) -> None:
        mine = where(kind=CHUNK, agent=self._agent, source=document.source, path=document.path)
        self.collection.delete_ids([each for each, _ in self.collection.scroll(mine) if each not in written])

    def _remove(self, source: str, path: str) -> None:
        self.collection.delete(where(agent=self._agent, source=source, path=path))

    def _point(
        self, point_id: str, document: Document, reading: Reading, chunk: Chunk, dense: list[float] | None
    ) -> Point:
        payload = {
            "kind": CHUNK,
            "agent": self._agent,
            "scope": reading.scope,
            "source": document.source,
            "path": document.path,
            "startLine": chunk.start_line,
            "endLine": chunk.end_line,
            "heading": chunk.heading,
            "hash": chunk.hash,
            "time": chunk.time_ms or document.time_ms,
            "text": chunk.text,
        }
        beside = f"{chunk.neighbour}\n{chunk.day}"
        words = sparse.document_vector(chunk.searched, beside, is_turn=chunk.is_turn)
        return Point(point_id, payload, dense, words)

    def _file_point(self, document: Document, reading: Reading, *, is_embedded: bool) -> Point:
        payload = {
            "kind": FILE,
            "agent": self._agent,
            "scope": reading.scope,
            "source": document.source,
            "path": document.path,
            "version": document.version,
            "time": document.time_ms,
            "embedded": is_embedded,
            **reading.facts,
        }
        return Point(_id(self._agent, FILE, document.source, document.path), payload)


def _ids(agent: str, document: Document, chunks: Iterable[Chunk]) -> list[str]:
    """The same text at the same path keeps its id; equal chunks of one document are counted."""
    seen, ids = Counter[str](), list[str]()
    for chunk in chunks:
        # Messages are added later, in separate readings that cannot count each other's repeats; the line tells them
        # apart.
        name = f"{chunk.hash} {chunk.start_line}" if chunk.is_turn else chunk.hash
        seen[name] += 1
        ids.append(_id(agent, document.source, document.path, name, str(seen[name])))
    return ids


def _id(*parts: str) -> str:
    return str(uuid5(_IDS, "\0".join(parts)))
