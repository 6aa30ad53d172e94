"""Settings that are read and checked, so that existing files load, but have no effect yet.

Their docstrings say so, and `ocw config example` and `schema` print them. Commands also warn anyone who sets one: a
policy that seems to protect and does not is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator

from openclaw_workers.config.base import Section
from openclaw_workers.config.schema_tree import Loc, aliases, members

MARK = "Not in effect yet"


def settings_not_in_effect(section: Section, loc: Loc = ()) -> Iterator[tuple[Loc, str]]:
    """Yield the ineffective settings below a section that differ from their default, with what happens instead."""
    for key, name in aliases(type(section)).items():
        if name not in section.model_fields_set:
            continue
        field, value, place = type(section).model_fields[name], getattr(section, name), (*loc, key)
        _, mark, instead = (field.description or "").partition(MARK)
        if mark:
            if value != field.get_default(call_default_factory=True):
                yield place, " ".join(f"not in effect yet{instead}".split()).rstrip(".")
        elif isinstance(value, Section):
            yield from settings_not_in_effect(value, place)
        else:
            for at, member in members(value):
                yield from settings_not_in_effect(member, (*place, at))
