"""How well memory finds what it holds: recall, hits, mean reciprocal rank and time, by words, by meaning and fused.

The unit is the turn (or the line of a file): a result that covers k of them uses k of the places.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from openclaw_workers.memory.backend import collection_name
from openclaw_workers.memory.chunks import Turn, chunk_turns
from openclaw_workers.memory.embedders.offline import OfflineEmbedder
from openclaw_workers.memory.fusion import Weights
from openclaw_workers.memory.index import MemoryIndex, Reading, fingerprint
from openclaw_workers.memory.qdrant_edge import EdgeBackend
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.memory.search import MemorySearch, Mode, SearchOptions

TOKENS, OVERLAP = 400, 80
MODES: Mapping[str, Mode] = {"keyword": "keyword", "dense": "vector", "fused": "hybrid"}
PLACES = (5, 10, 20)


class Said(NamedTuple):
    """One turn."""

    id: str
    text: str
    time_ms: int = 0


@dataclass(frozen=True)
class Conversation:
    """Turns in their order."""

    name: str
    turns: Sequence[Said]


@dataclass(frozen=True)
class Question:
    conversation: str
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class _Spoken:
    conversation: Conversation
    source: str = "sessions"
    version: str = "1"
    time_ms: int = 0

    @property
    def path(self) -> str:
        return f"sessions/{self.conversation.name}.jsonl"

    def read(self, known: Mapping[str, Any] | None) -> Reading:
        turns = [Turn(said.text, line, said.time_ms) for line, said in enumerate(self.conversation.turns, 1)]
        return Reading(chunk_turns(turns, tokens=TOKENS), "files")


class Bench:
    """Each conversation is the memory of one agent."""

    def __init__(self, folder: Path, conversations: Sequence[Conversation]) -> None:
        self._embedder = OfflineEmbedder()
        self._backend = EdgeBackend(folder)
        name = collection_name(fingerprint(self._embedder.model, TOKENS, OVERLAP), self._embedder.dimensions)
        self._collection = self._backend.open(name)
        self._ids = {each.name: [said.id for said in each.turns] for each in conversations}
        began = time.monotonic()
        for each in conversations:
            MemoryIndex(self._collection, each.name, self._embedder).sync([_Spoken(each)])
        self.index_seconds = time.monotonic() - began
        self.turns = sum(len(each.turns) for each in conversations)

    def close(self) -> None:
        self._backend.close()

    def measure(self, questions: Sequence[Question], mode: str, weights: Weights | None = None) -> dict[str, float]:
        engine, times, ranks = MemorySearch(self._collection, self._embedder), list[float](), list[list[str]]()
        options = SearchOptions(max_results=max(PLACES), mode=MODES[mode], weights=weights)
        for question in questions:
            began = time.perf_counter()
            found = engine.search(_plain(question.text), Visibility(question.conversation, ("files",)), options)
            times.append((time.perf_counter() - began) * 1000)
            ranks.append(self._turns(question.conversation, found.results))
        return {**_scores(questions, ranks), "queryMsP50": round(statistics.median(times), 3)}

    def _turns(self, conversation: str, results: Sequence[Any]) -> list[str]:
        """The turns that the results cover, in order."""
        ids = self._ids[conversation]
        lines = (line for each in results for line in range(each.payload["startLine"], each.payload["endLine"] + 1))
        return list(dict.fromkeys(ids[line - 1] for line in lines))


@contextmanager
def open_bench(conversations: Sequence[Conversation]) -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="ocw-memory-"))
    bench = Bench(folder, conversations)
    try:
        yield bench
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)


def _plain(question: str) -> str:
    """A question is no exact search, whatever it quotes."""
    return question.replace('"', " ").replace("“", " ").replace("”", " ").replace(" AND ", " and ")


def _scores(questions: Sequence[Question], ranks: Sequence[Sequence[str]]) -> dict[str, float]:
    pairs = list(zip(questions, ranks, strict=True))

    def mean(values: Iterator[float]) -> float:
        return round(statistics.fmean(values), 4) if pairs else 0.0

    recall = {
        f"recall@{count}": mean(
            len(asked.evidence & set(found[:count])) / len(asked.evidence) for asked, found in pairs
        )
        for count in PLACES
    }
    firsts = [next((at for at, turn in enumerate(found, 1) if turn in asked.evidence), 0) for asked, found in pairs]
    return {
        **recall,
        "hit@20": mean(float(0 < first <= max(PLACES)) for first in firsts),
        "mrr": mean(1 / first if first else 0.0 for first in firsts),
    }
