"""The one interface of the index: embedded in this process, or on a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from openclaw_workers.memory.points import Hit, Point, Query, Where

PREFIX = "ocw_memory_"
"""What the names of our collections begin with; a server may hold others."""


def collection_name(fingerprint: str, dimensions: int) -> str:
    """The name of a collection; 0 dimensions: without dense vectors."""
    return f"{PREFIX}{fingerprint}_{dimensions}"


def dimensions_in(name: str) -> int:
    tail = name.rpartition("_")[2]
    return int(tail) if tail.isdecimal() else 0


class Collection(Protocol):
    """The points of one embedding model. Every method may raise IndexUnavailable."""

    has_dense: bool
    """Whether points have dense vectors; without them only words can be searched."""

    def upsert(self, points: Sequence[Point]) -> None: ...

    def delete(self, where: Where) -> None: ...

    def delete_ids(self, ids: Sequence[str]) -> None: ...

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Carry out all queries as one batch; results in the same order."""

    def payloads(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The payloads of these points, by id, as far as they are there."""

    def scroll(self, where: Where) -> Iterator[tuple[str, dict[str, Any]]]:
        """Ids and payloads of all matching points."""

    def count(self, where: Where) -> int: ...

    def flush(self) -> None:
        """Return when everything written so far survives a crash."""

    def finish(self) -> None:
        """As flush, when nothing more is written for now."""


class Backend(Protocol):
    """Where collections live."""

    name: str

    def open(self, name: str) -> Collection:
        """Open a collection; create it if it does not exist. Its name says how long its vectors are.

        Raises:
            IndexUnavailable: it cannot be reached, or another process holds it.
        """

    def names(self) -> list[str]:
        """The collections there are."""

    def drop(self, name: str) -> None: ...

    def close(self) -> None: ...
