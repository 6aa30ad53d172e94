"""What an index holds and how it is asked: values that both backends understand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

FILE = "file"
"""The kind of a point that says which version of a document is indexed. It has no vectors."""
CHUNK = "chunk"
KEYWORD_FIELDS = ("kind", "agent", "scope", "source", "path")
"""Payload fields that conditions may name; each has a payload index."""


class IndexUnavailable(Exception):
    """The index cannot be used now; the text says why."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    indices: list[int]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Point:
    id: str
    payload: dict[str, Any]
    dense: list[float] | None = None
    sparse: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """A payload field has one of these values."""

    name: str
    any_of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """Points for which every condition holds, and none of `unless` does."""

    must: tuple[Condition, ...]
    unless: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    vector: list[float] | SparseVector
    where: Where
    limit: int
    corpus: Where | None = None
    """The points that decide how rare a word is; for sparse vectors."""
    with_payload: bool = True


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    score: float
    payload: dict[str, Any] = field(default_factory=dict)


def where(**fields: str | Sequence[str]) -> Where:
    """A filter of field=value or field=[values]."""
    return Where(
        tuple(Condition(name, (value,) if isinstance(value, str) else tuple(value)) for name, value in fields.items())
    )
