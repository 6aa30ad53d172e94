"""Words as sparse vectors: BM25 computed here, for both backends. The index adds how rare each word is.

The text of a chunk counts twice and its neighbour's once: a chunk is found much better if the words just before it
count too. In a conversation the neighbour often holds the question that a message answers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from openclaw_workers.memory.points import SparseVector

VERSION = "bm25-multilingual-1"
"""Part of an index's name: another tokenizer or weighting needs a new index."""
TURN_WORDS = 64
"""The usual length of a message with its neighbour, in terms."""
PASSAGE_WORDS = 400


def document_vector(text: str, neighbour: str = "", *, is_turn: bool = False) -> SparseVector:
    """The vector of a chunk; `neighbour` is the text before it."""
    encoder = _encoder(TURN_WORDS if is_turn else PASSAGE_WORDS)
    found = encoder.embed_document(f"{text}\n{text}\n{neighbour}")
    return SparseVector(list(found.indices), list(found.values))


def query_vector(text: str) -> SparseVector:
    found = _encoder(PASSAGE_WORDS).embed_query(text)
    return SparseVector(list(found.indices), list(found.values))


@lru_cache(maxsize=2)
def _encoder(average_words: int) -> Any:
    import qdrant_edge as edge  # noqa: PLC0415 - heavy

    return edge.Bm25(edge.Bm25Config(tokenizer=edge.TokenizerType.Multilingual, avg_len=float(average_words)))
