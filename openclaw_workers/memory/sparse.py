"""Words as sparse vectors: BM25 computed here, for both backends. The index adds how rare each word is.

The text of a chunk counts twice and its neighbour's once: a chunk is found much better if the words just before it
count too. In a conversation the neighbour often holds the question that a message answers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from openclaw_workers.memory.points import SparseVector

VERSION = "bm25-multilingual-2"
"""Part of an index's name: another tokenizer or weighting needs a new index."""
TURN_WORDS = 64
"""The usual length of a message with its neighbour, in terms."""
PASSAGE_WORDS = 400
_NUMBER = re.compile(r"(?<![A-Za-z\d_])\d+(?![A-Za-z\d_])")
_LETTERS = "bcdfghjkmp"
"""One for each digit. A word of them has no ending that a stemmer would cut off."""


def document_vector(text: str, neighbour: str = "", *, is_turn: bool = False) -> SparseVector:
    """The vector of a chunk; `neighbour` is the text before it."""
    encoder = _encoder(TURN_WORDS if is_turn else PASSAGE_WORDS)
    found = encoder.embed_document(_with_numbers(f"{text}\n{text}\n{neighbour}"))
    return SparseVector(list(found.indices), list(found.values))


def query_vector(text: str) -> SparseVector:
    found = _encoder(PASSAGE_WORDS).embed_query(_with_numbers(text))
    return SparseVector(list(found.indices), list(found.values))


def _with_numbers(text: str) -> str:
    """The text with numbers written as words: the multilingual tokenizer leaves numbers out."""
    return _NUMBER.sub(lambda found: f" zq{''.join(_LETTERS[int(digit)] for digit in found[0])} ", text)


@lru_cache(maxsize=2)
def _encoder(average_words: int) -> Any:
    import qdrant_edge as edge  # noqa: PLC0415 - heavy

    return edge.Bm25(edge.Bm25Config(tokenizer=edge.TokenizerType.Multilingual, avg_len=float(average_words)))
