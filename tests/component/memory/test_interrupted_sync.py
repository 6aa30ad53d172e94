"""A sync that is cut off at any point leaves an index that the next sync makes whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.memory import index
from openclaw_workers.memory.backend import Collection, collection_name
from openclaw_workers.memory.chunks import Turn, chunk_turns
from openclaw_workers.memory.index import Document, MemoryIndex, Reading
from openclaw_workers.memory.points import CHUNK, FILE, Hit, IndexUnavailable, Point, Query, Where, where
from openclaw_workers.memory.qdrant_edge import EdgeBackend
from openclaw_workers.memory.scopes import session_scope
from tests.component.memory.documents import Note

NAME = collection_name("interrupted", 0)


class Died(Exception):
    """As if the process had been killed here."""


class DyingCollection:
    """Dies at its n-th write, before it is carried out."""

    has_dense = False

    def __init__(self, inner: Collection, writes: int) -> None:
        self._inner = inner
        self.left = writes

    def _write(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Died

    def upsert(self, points: Sequence[Point]) -> None:
        self._write()
        self._inner.upsert(points)

    def delete(self, where: Where) -> None:
        self._write()
        self._inner.delete(where)

    def delete_ids(self, ids: Sequence[str]) -> None:
        self._write()
        self._inner.delete_ids(ids)

    def flush(self) -> None:
        self._write()
        self._inner.flush()

    def finish(self) -> None:
        self._write()
        self._inner.finish()

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        return self._inner.search(queries)

    def payloads(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        return self._inner.payloads(ids)

    def scroll(self, where: Where) -> Iterator[tuple[str, dict[str, Any]]]:
        return self._inner.scroll(where)

    def count(self, where: Where) -> int:
        return self._inner.count(where)


@dataclass
class Talk:
    """A transcript that grows."""

    messages: list[str]
    path: str = "sessions/a.jsonl"
    source: str = "sessions"
    time_ms: int = 0

    @property
    def version(self) -> str:
        return str(len(self.messages))

    def read(self, known: Mapping[str, Any] | None) -> Reading:
        start = int((known or {}).get("count", 0))
        turns = [Turn(text, at + 1, 0) for at, text in enumerate(self.messages) if at >= start]
        facts = {"count": len(self.messages)}
        return Reading(chunk_turns(turns, tokens=400), session_scope("a"), facts, is_addition=start > 0)


def texts(collection: Collection, agent: str) -> list[tuple[str, str]]:
    found = collection.scroll(where(kind=CHUNK, agent=agent))
    return sorted((payload["path"], payload["text"]) for _, payload in found)


EARLY: list[Document] = [
    Note("a.md", "early alpha"),
    Note("b.md", "early beta"),
    Note("gone.md", "old"),
    Talk(["hello"]),
]
LATE: list[Document] = [
    Note("a.md", "late alpha", "2"),
    Note("b.md", "early beta"),
    Note("new.md", "late gamma"),
    Talk(["hello", "and goodbye"]),
]
EXPECTED = [
    ("a.md", "late alpha"),
    ("b.md", "early beta"),
    ("new.md", "late gamma"),
    ("sessions/a.jsonl", "and goodbye"),
    ("sessions/a.jsonl", "hello"),
]
MOST_WRITES = 12
SOURCES = ("memory", "sessions")


def test_the_next_sync_makes_it_whole(tmp_path: Path) -> None:
    backend = EdgeBackend(tmp_path / "index")
    collection = backend.open(NAME)
    has_died = True
    for writes in range(MOST_WRITES):
        agent = f"agent{writes}"  # each begins with an index of its own
        MemoryIndex(collection, agent, None).sync(EARLY, complete=SOURCES)
        dying = DyingCollection(collection, writes)
        try:
            MemoryIndex(dying, agent, None).sync(LATE, complete=SOURCES)
            has_died = False
        except Died:
            assert ("sessions/a.jsonl", "hello") in texts(collection, agent), "what stays is there all the time"
        MemoryIndex(collection, agent, None).sync(LATE, complete=SOURCES)
        assert texts(collection, agent) == EXPECTED, f"after {writes} writes"
    assert not has_died, "more writes than are tried here"
    backend.close()


class FlushedCollection(DyingCollection):
    """Remembers which points were written, and which of them before the last flush."""

    def __init__(self, inner: Collection) -> None:
        super().__init__(inner, 1_000)
        self.written: list[Point] = []
        self.flushed: list[Point] = []
        self.noted_early: list[str] = []

    def upsert(self, points: Sequence[Point]) -> None:
        safe = {point.payload["path"] for point in self.flushed if point.payload["kind"] == CHUNK}
        noted = [point.payload["path"] for point in points if point.payload["kind"] == FILE]
        self.noted_early += [path for path in noted if path not in safe]
        self.written += points
        super().upsert(points)

    def flush(self) -> None:
        super().flush()
        self.flushed = list(self.written)


def test_a_document_counts_as_indexed_only_when_its_chunks_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no write-ahead log: what is not flushed may be lost, in any order."""
    monkeypatch.setattr(index, "GROUP_CHUNKS", 2)
    monkeypatch.setattr(index, "FLUSH_CHUNKS", 5)
    backend = EdgeBackend(tmp_path / "index")
    collection = FlushedCollection(backend.open(NAME))
    notes: list[Document] = [Note(f"{number}.md", f"text {number}") for number in range(12)]

    MemoryIndex(collection, "main", None).sync(notes, complete=SOURCES)

    assert collection.noted_early == []
    assert len(MemoryIndex(collection, "main", None).known("memory")) == 12
    backend.close()


def test_one_process_at_a_time_opens_the_index(tmp_path: Path) -> None:
    first, second = EdgeBackend(tmp_path / "index"), EdgeBackend(tmp_path / "index")
    first.open(NAME)
    with pytest.raises(IndexUnavailable, match="another process of this host holds the index"):
        second.open(NAME)
    first.close()
    assert second.open(NAME).count(where(kind=CHUNK)) == 0
    second.close()
