"""Walk the settings classes and their values as a tree."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from openclaw_workers.config.base import Section

Loc = tuple[str | int, ...]
"""A path in the tree: camelCase keys and list positions."""


def section_of(annotation: Any) -> type[Section] | None:
    """The settings class behind an annotation, if there is one."""
    plain = plain_type(annotation)
    return plain if isinstance(plain, type) and issubclass(plain, Section) else None


def item_of(annotation: Any) -> tuple[type | None, Any]:
    """`(dict, item)` for a map, `(tuple, item)` for a list, `(None, None)` for anything else."""
    plain = plain_type(annotation)
    origin, args = get_origin(plain), get_args(plain)
    if origin is dict:
        return dict, args[1]
    if origin is tuple:
        return tuple, args[0]
    return None, None


def plain_type(annotation: Any) -> Any:
    """The type behind an annotation, without its metadata and without None."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, types.UnionType):
            annotation = next(arg for arg in get_args(annotation) if arg is not type(None))
        else:
            return annotation


def aliases(section: type[Section]) -> dict[str, str]:
    """Field names by the key they have in the file."""
    return {field.alias or name: name for name, field in section.model_fields.items()}


def dotted(loc: Loc) -> str:
    """Format a path: `agents.list[0].model`. Keys with special characters are quoted."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[^.\[\]\s\"]+", part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value at the end of a path."""

    loc: Loc
    value: Any
    """Plain and printable; secrets are hidden."""
    is_given: bool
    """Whether it was set; otherwise it is the default."""


def leaves(section: Section) -> Iterator[Leaf]:
    """Every value below a section.

    For items of maps and lists only the given values: the rest is inherited.
    """
    yield from _leaves(section, section.model_dump(mode="json", by_alias=True), (), given=True, item=False)


def _leaves(section: Section, dumped: dict[str, Any], loc: Loc, *, given: bool, item: bool) -> Iterator[Leaf]:
    for key, name in aliases(type(section)).items():
        is_given = given and name in section.model_fields_set
        # What an item of a map does not set comes from elsewhere; its own default would be a wrong answer.
        if item and not is_given:
            continue
        value, plain = getattr(section, name), dumped[key]
        if isinstance(value, Section):
            yield from _leaves(value, plain, (*loc, key), given=is_given, item=item)
        elif below := members(value):
            for at, member in below:
                yield from _leaves(member, plain[at], (*loc, key, at), given=is_given, item=True)
        else:
            yield Leaf((*loc, key), plain, is_given)


def members(value: Any) -> list[tuple[str | int, Section]]:
    """The members of a map or list of sections, by key or position."""
    found = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
    return [(at, member) for at, member in found if isinstance(member, Section)]
