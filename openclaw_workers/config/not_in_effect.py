"""Settings that are read and checked, so that a file can be brought along, but that nothing obeys yet.

Their docstrings say so, which is what `ocw config example` and `schema` print. Whoever sets one is told as well: a
policy that is taken for a protection and is none does more harm than a missing one.
"""

from __future__ import annotations

from collections.abc import Iterator

from openclaw_workers.config.base import Section
from openclaw_workers.config.schema_tree import Loc, aliases, members

MARK = "Not in effect yet"


def pending(section: Section, loc: Loc = ()) -> Iterator[tuple[Loc, str]]:
    """Those below a section that are set to something else than their default, each with what holds instead."""
    for key, name in aliases(type(section)).items():
        if name not in section.model_fields_set:
            continue
        field, value, place = type(section).model_fields[name], getattr(section, name), (*loc, key)
        _, mark, instead = (field.description or "").partition(MARK)
        if mark:
            if value != field.get_default(call_default_factory=True):
                yield place, " ".join(f"not in effect yet{instead}".split()).rstrip(".")
        elif isinstance(value, Section):
            yield from pending(value, place)
        else:
            for at, member in members(value):
                yield from pending(member, (*place, at))
