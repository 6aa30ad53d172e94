"""Settings that are read and checked, so that existing files load, but have no effect yet.

Their docstrings say so, and `ocw config example` and `schema` print them. Commands also warn anyone who sets one, also
where it repeats a default. A policy that seems to protect and does not is worse than none, so settings that people rely
on for safety also prevent a start.
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
class NotInEffect:
    """A setting that is given but has no effect yet."""

    loc: Loc
    instead: str
    """What happens instead."""
    is_protection: bool
    """Whether it, or a setting in it, would restrict what tools can do."""


def settings_not_in_effect(section: Section, loc: Loc = ()) -> Iterator[NotInEffect]:
    """Yield the ineffective settings below a section that are given."""
    for key, name in aliases(type(section)).items():
        if name not in section.model_fields_set:
            continue
        field, value, place = type(section).model_fields[name], getattr(section, name), (*loc, key)
        protects = _protection(field)
        if protects and value in protects.unless:
            continue  # it asks for no restriction, and there is none
        inside = [each for inner, at in _sections(value, place) for each in settings_not_in_effect(inner, at)]
        _, mark, instead = (field.description or "").partition(MARK)
        if mark:
            happens = " ".join(f"not in effect yet{instead}".split()).rstrip(".")
            yield NotInEffect(place, happens, protects is not None or any(each.is_protection for each in inside))
        else:
            yield from inside


def _protection(field: FieldInfo) -> Protects | None:
    return next((mark for mark in field.metadata if isinstance(mark, Protects)), None)


def _sections(value: Any, place: Loc) -> list[tuple[Section, Loc]]:
    """The section that a value is, or those in it."""
    if isinstance(value, Section):
        return [(value, place)]
    return [(member, (*place, at)) for at, member in members(value)]
