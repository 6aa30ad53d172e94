"""Settings that are read and checked, so that a file can be brought along, but that nothing obeys yet.

Their docstrings say so, which is what `ocw config example` and `schema` print. Whoever sets one is told as well, also
where it repeats a default: nothing obeys that either. A policy that is taken for a protection and is none does more
harm than a missing one, so those that people rely on to be safe also stop a start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from openclaw_workers.config.base import Protects, Section
from openclaw_workers.config.schema_tree import Loc, aliases, members

MARK = "Not in effect yet"


@dataclass(frozen=True, slots=True)
class Pending:
    """One setting that is given and that nothing obeys yet."""

    loc: Loc
    instead: str
    """What holds instead."""
    is_protection: bool
    """Whether it, or a setting in it, would restrict what tools can do."""


def pending(section: Section, loc: Loc = ()) -> Iterator[Pending]:
    """Those below a section that are given."""
    for key, name in aliases(type(section)).items():
        if name not in section.model_fields_set:
            continue
        field, value, place = type(section).model_fields[name], getattr(section, name), (*loc, key)
        protects = _protection(field)
        if protects and value in protects.unless:
            continue  # it asks for no restriction, and there is none
        inside = [each for inner, at in _sections(value, place) for each in pending(inner, at)]
        _, mark, instead = (field.description or "").partition(MARK)
        if mark:
            told = " ".join(f"not in effect yet{instead}".split()).rstrip(".")
            yield Pending(place, told, protects is not None or any(each.is_protection for each in inside))
        else:
            yield from inside


def _protection(field: FieldInfo) -> Protects | None:
    return next((mark for mark in field.metadata if isinstance(mark, Protects)), None)


def _sections(value: Any, place: Loc) -> list[tuple[Section, Loc]]:
    """The section that a value is, or those in it."""
    if isinstance(value, Section):
        return [(value, place)]
    return [(member, (*place, at)) for at, member in members(value)]
