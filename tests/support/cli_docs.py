"""The tables of JSON fields in docs/cli.md, compared with the answers of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
HEADING = "## JSON, field by field"
WITHIN_BRACKETS = re.compile(r"\([^()]*\)")
FIELD = re.compile(r"(?P<name>\w+|…)(?P<many>\[\])?(?P<optional>\?)?(: (?P<shape>\w+))?")


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    is_many: bool
    is_optional: bool
    shape: str
    """Empty for a plain value."""


class CliDocs:
    """The documented fields; remembers which of them were seen."""

    def __init__(self, page: str) -> None:
        commands, shapes = (_rows(each) for each in page.partition(HEADING)[2].split("| shape | fields |"))
        self.commands = {name: _fields(cell) for names, cell in commands for name in _names(names)}
        self._shapes = {name: _fields(cell) for name, cell in shapes}
        self._seen: set[tuple[str, str]] = set()

    def problems(self, command: str, answer: Any) -> Iterator[str]:
        """How an answer of a command differs from what is documented."""
        fields = self.commands[command]
        if fields[0].name == "…" and fields[0].is_many:
            yield from self._in_value(command, f"`{command}` ", fields[0], answer)
        else:
            yield from self._in_object(command, f"`{command}` ", fields, answer)

    def never_seen(self) -> list[str]:
        """Fields that no answer had."""
        documented = {**{f"`{name}`": each for name, each in self.commands.items()}, **self._shapes}
        return [
            f"{place} {field.name}"
            for place, fields in documented.items()
            for field in fields
            if field.name != "…" and (place.strip("`"), field.name) not in self._seen
        ]

    def _in_object(self, place: str, path: str, fields: Sequence[Field], value: Any) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path.rstrip('. ')} is no object: {value!r}"
            return
        known = {field.name: (owner, field) for owner, field in self._spelled_out(place, fields)}
        yield from (f"{path}{name} is not documented" for name in value if name not in known)
        for name, (owner, field) in known.items():
            if name in value:
                self._seen.add((owner, name))
                yield from self._in_value(owner, f"{path}{name}", field, value[name])
            elif not field.is_optional:
                yield f"{path}{name} is missing"

    def _in_value(self, owner: str, path: str, field: Field, value: Any) -> Iterator[str]:
        if field.is_many:
            if not isinstance(value, list):
                yield f"{path} is no list: {value!r}"
                return
            for each in value:
                yield from self._in_one(f"{path}[]", field.shape, each)
        elif value is not None:
            yield from self._in_one(path, field.shape, value)

    def _in_one(self, path: str, shape: str, value: Any) -> Iterator[str]:
        if shape == "any":
            return
        if shape in ("", "object"):
            if isinstance(value, dict) != (shape == "object") or isinstance(value, list):
                yield f"{path} is not what is documented: {value!r}"
            return
        if shape not in self._shapes and isinstance(value, dict):
            shape = f"{shape} {value.get('role') or value.get('type')}"
        if shape not in self._shapes:
            yield f"{path} has the undocumented shape {shape!r}"
            return
        yield from self._in_object(shape, f"{path}.", self._shapes[shape], value)

    def _spelled_out(self, place: str, fields: Sequence[Field]) -> Iterator[tuple[str, Field]]:
        """Each field with where it is documented."""
        for field in fields:
            if field.name == "…":
                yield from self._spelled_out(field.shape, self._shapes[field.shape])
            else:
                yield place, field


def _rows(table: str) -> list[tuple[str, str]]:
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return [(cells[0], cells[1]) for cells in lines if cells[0] not in ("command", "---")]


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell) or [cell]


def _fields(cell: str) -> list[Field]:
    while (bare := WITHIN_BRACKETS.sub("", cell)) != cell:
        cell = bare
    return [_field(text) for text in re.findall(r"`([^`]+)`", bare)]


def _field(text: str) -> Field:
    found = FIELD.fullmatch(text)
    assert found is not None, f"{PAGE.name} names a field {text!r}"
    return Field(found["name"], bool(found["many"]), bool(found["optional"]), found["shape"] or "")
