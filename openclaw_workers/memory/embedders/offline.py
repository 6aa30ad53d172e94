"""The offline embedder: static word vectors from the wordllama wheel. No network, no key, little memory.

The wheel's own code would load numbers of twice the size, and pad all texts of a batch to the longest one. So only its
files are used: a tokenizer, and a vector for each token. A text is the mean of its tokens' vectors, as there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from openclaw_workers.memory.embedders.base import EmbedderUnavailable

BATCH = 32
"""Texts that are tokenized together."""
TOKENIZER = Path("tokenizers") / "l2_supercat_tokenizer_config.json"
WEIGHTS = Path("weights") / "l2_supercat_256.safetensors"


@dataclass(frozen=True, slots=True)
class _Files:
    tokenizer: Any
    vectors: Any
    """One row for each token."""


class OfflineEmbedder:
    provider = "offline"
    model = "wordllama-256"
    dimensions = 256

    def __init__(self) -> None:
        self._loading = Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        # Two threads that load at once would hold the table twice.
        with self._loading:
            files = self._files
        found: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = [text if text.strip() else "." for text in texts[start : start + BATCH]]
            found += [_mean(each.ids, files.vectors) for each in _encoded(batch, files.tokenizer)]
        return found

    @cached_property
    def _files(self) -> _Files:
        wheel = find_spec("wordllama")
        if wheel is None or not wheel.submodule_search_locations:
            why = "the wheel `wordllama` is not installed (there is none for Python 3.14 and later)"
            raise EmbedderUnavailable(why)
        folder = Path(wheel.submodule_search_locations[0])
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415 - heavy

            tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
            tokenizer.no_padding()
            # The tokenizer's file sets a padding and a length for training. Here both would change the mean.
            tokenizer.no_truncation()
            return _Files(tokenizer, _mapped(folder / WEIGHTS))
        except Exception as error:
            raise EmbedderUnavailable(f"the files of wordllama cannot be loaded: {error}") from error


def _mapped(path: Path) -> Any:
    """The table of a safetensors file, read as it is needed: all processes of a host share what they have read.

    The file begins with the length of a JSON text, which says where each table is.
    """
    import numpy as np  # noqa: PLC0415 - heavy

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        table = json.loads(file.read(length))["embedding.weight"]
    kind = {"F16": np.float16, "F32": np.float32}[table["dtype"]]
    start = 8 + length + table["data_offsets"][0]
    return np.memmap(path, dtype=kind, mode="r", offset=start, shape=tuple(table["shape"]))


def _encoded(texts: list[str], tokenizer: Any) -> Any:
    """The tokens of each text. A query comes alone, and must not wait for the threads that share a batch."""
    if len(texts) == 1:
        return [tokenizer.encode(texts[0], add_special_tokens=False)]
    return tokenizer.encode_batch_fast(texts, add_special_tokens=False)


def _mean(tokens: Sequence[int], vectors: Any) -> list[float]:
    """The mean of the tokens' vectors, of length one."""
    import numpy as np  # noqa: PLC0415 - heavy

    ids, counts = np.unique(np.asarray(tokens, np.int32), return_counts=True)
    known = ids < len(vectors)
    total = counts[known].astype(np.float32) @ vectors[ids[known]].astype(np.float32)
    length = float(np.linalg.norm(total)) or 1.0
    return list(map(float, total / length))
