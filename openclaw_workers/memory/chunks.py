"""Cut Markdown and conversations into chunks: on line borders, overlapping, with the headings they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from hashlib import sha256

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_FENCE = re.compile(r"\s*(```|~~~)")
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]")
CHARS_PER_TOKEN = 4
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    start_line: int
    """1-based."""
    end_line: int
    heading: str = ""
    """The headings above the chunk that it does not contain itself, outermost first."""
    neighbour: str = ""
    """The text just before it."""
    is_turn: bool = False
    """One message of a conversation."""
    time_ms: int = 0
    """When it was said; 0 for text of a file."""
    day: str = ""
    """The day it was said, as people write it; "" for text of a file."""

    @property
    def searched(self) -> str:
        """The text with its headings: what is embedded and what words are taken from."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text

    @property
    def hash(self) -> str:
        return sha256(f"{self.searched}\0{self.neighbour}".encode()).hexdigest()


def tokens_of(text: str) -> float:
    """About how many tokens a text has: one for each wide character, one for four others."""
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide) / CHARS_PER_TOKEN


def chunk_markdown(text: str, *, tokens: int, overlap: int) -> list[Chunk]:
    """Chunks of about `tokens` tokens; two neighbours share the lines of about `overlap` tokens."""
    lines = [part for number, line in enumerate(text.splitlines(), 1) for part in _parts(line, number, tokens)]
    trails = _trails(lines)
    chunks: list[Chunk] = []
    start = 0
    while start < len(lines):
        end = _end(lines, start, tokens)
        body = lines[start:end]
        said = "\n".join(line.text for line in body).strip("\n")
        if said.strip():
            before = chunks[-1].text if chunks else ""
            heading = "\n".join(trails[start])
            chunks.append(Chunk(said, body[0].number, body[-1].number, heading, before))
        if end >= len(lines):
            break
        # At least one line further, or an overlap as long as the chunk would loop forever.
        start = max(start + 1, _overlap_start(lines, end, overlap))
    return chunks


def chunk_turns(turns: Sequence[Turn], *, tokens: int, before: str = "", zone: tzinfo = UTC) -> list[Chunk]:
    """One chunk for each message, several for a long one; `before` is what was said before the first."""
    chunks: list[Chunk] = []
    for turn in turns:
        day = _day(turn.time_ms, zone)
        for part in _parts(turn.text, turn.line, tokens):
            line = turn.line
            chunk = Chunk(part.text, line, line, neighbour=before, is_turn=True, time_ms=turn.time_ms, day=day)
            chunks.append(chunk)
            before = part.text
    return chunks


def _day(time_ms: int, zone: tzinfo) -> str:
    """`8 May 2026 2026-05-08`, in English whatever the locale; "" without a time."""
    if not time_ms:
        return ""
    day = datetime.fromtimestamp(time_ms / 1000, zone)
    return f"{day.day} {MONTHS[day.month - 1]} {day.year} {day:%Y-%m-%d}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, as one line: `User: …` or `Assistant: …`."""

    text: str
    line: int
    """1-based, counted over all entries of the transcript."""
    time_ms: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    number: int
    tokens: float
    level: int = 0
    """Of a heading; 0 for other lines."""


def _parts(text: str, number: int, tokens: int) -> Iterator[_Line]:
    """The line, in several parts if it alone is longer than a chunk."""
    size = tokens_of(text)
    if size <= tokens:
        yield _Line(text, number, size)
        return
    # In proportion, because a wide character is a whole token and a letter only a quarter.
    step = max(1, int(len(text) * tokens / size))
    for at in range(0, len(text), step):
        part = text[at : at + step]
        yield _Line(part, number, tokens_of(part))


def _trails(lines: list[_Line]) -> list[list[str]]:
    """For each line the headings above it. Marks the headings' levels in `lines`; code blocks hold none."""
    trail: list[tuple[int, str]] = []
    trails: list[list[str]] = []
    in_code = False
    for index, line in enumerate(lines):
        trails.append([text for _, text in trail])
        if _FENCE.match(line.text):
            in_code = not in_code
        elif not in_code and (found := _HEADING.match(line.text)):
            level = len(found[1])
            trail = [each for each in trail if each[0] < level]
            trails[-1] = [text for _, text in trail]
            trail.append((level, line.text.strip()))
            lines[index] = _Line(line.text, line.number, line.tokens, level)
    return trails


def _end(lines: Sequence[_Line], start: int, tokens: int) -> int:
    """Where the chunk that begins at `start` ends. A heading stays with the text below it."""
    used, end = 0.0, start
    while end < len(lines) and (end == start or used + lines[end].tokens <= tokens):
        used += lines[end].tokens
        end += 1
    last = end
    # Headings and blank lines at the end go to the next chunk.
    while end < len(lines) and last > start + 1 and (lines[last - 1].level or not lines[last - 1].text.strip()):
        last -= 1
    has_text = any(not line.level and line.text.strip() for line in lines[start:last])
    return last if has_text else end


def _overlap_start(lines: Sequence[_Line], end: int, overlap: int) -> int:
    used, start = 0.0, end
    while start > 0 and used + lines[start - 1].tokens <= overlap:
        start -= 1
        used += lines[start].tokens
    return start
