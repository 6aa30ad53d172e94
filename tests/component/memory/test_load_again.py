"""After many changes the embedded index is loaded again; nobody who searches it meanwhile notices."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from openclaw_workers.memory import qdrant_edge, sparse
from openclaw_workers.memory.backend import collection_name
from openclaw_workers.memory.index import Document, MemoryIndex
from openclaw_workers.memory.points import CHUNK, IndexUnavailable, Query, where
from openclaw_workers.memory.qdrant_edge import EdgeBackend
from tests.component.memory.documents import Note

ROUNDS = 40


def test_searches_go_on_while_the_index_is_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_edge, "LOAD_AGAIN_POINTS", 1)
    backend = EdgeBackend(tmp_path / "index")
    collection = backend.open(collection_name("again", 0))
    index = MemoryIndex(collection, "main", None)
    kept = Note("kept.md", "the harbour opens at six")
    index.sync([kept])
    query = Query(sparse.query_vector("harbour"), where(kind=CHUNK, agent="main"), 5)
    failures: list[Exception] = []
    found: list[int] = []
    is_over = threading.Event()

    def search() -> None:
        while not is_over.is_set():
            try:
                found.append(len(collection.search([query])[0]))
            except IndexUnavailable as error:
                failures.append(error)

    searcher = threading.Thread(target=search)
    searcher.start()
    for number in range(ROUNDS):
        changing: list[Document] = [kept, Note(f"{number}.md", f"note number {number}")]
        index.sync(changing)
    is_over.set()
    searcher.join()

    assert failures == []
    assert set(found) == {1}
    assert collection.count(where(kind=CHUNK)) == ROUNDS + 1
    backend.close()
