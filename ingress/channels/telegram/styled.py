"""Text with formatting entities, as Telegram takes it: no markup to escape, so nothing in a text can break it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any


@dataclass(frozen=True, slots=True)
class Entity:
    """Formatting of text[start:end]. Positions count characters; `Styled.payload` converts them to UTF-16 units."""

    type: str
    start: int
    end: int
    url: str = ""
    language: str = ""

    def clipped(self, start: int, end: int) -> Entity:
        """The part of it inside text[start:end], counted from `start`."""
        return replace(self, start=max(self.start, start) - start, end=min(self.end, end) - start)


@dataclass(frozen=True, slots=True)
class Styled:
    text: str
    entities: tuple[Entity, ...] = ()

    def payload(self) -> dict[str, Any]:
        """Text and entities as the Bot API has them."""
        units = utf16_offsets(self.text)
        return {"text": self.text, "entities": [_json(entity, units) for entity in self.entities]}

    def slice(self, start: int, end: int) -> Styled:
        """The part text[start:end] with the formatting that lies in it; entities of white space alone are left out."""
        text = self.text[start:end]
        clipped = (each.clipped(start, end) for each in self.entities if each.start < end and each.end > start)
        return Styled(text, tuple(each for each in clipped if text[each.start : each.end].strip()))


def utf16_offsets(text: str) -> list[int]:
    """For each position in the text, its end included, how many UTF-16 units come before it."""
    return [0, *accumulate(2 if ord(char) > 0xFFFF else 1 for char in text)]


def utf16_length(text: str) -> int:
    return len(text) + sum(ord(char) > 0xFFFF for char in text)


def _json(entity: Entity, units: list[int]) -> dict[str, Any]:
    offset = units[entity.start]
    shown: dict[str, Any] = {"type": entity.type, "offset": offset, "length": units[entity.end] - offset}
    if entity.url:
        shown["url"] = entity.url
    if entity.language:
        shown["language"] = entity.language
    return shown
