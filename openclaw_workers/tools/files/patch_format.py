"""The format of `apply_patch`, as OpenAI's Codex defines it.

*** Begin Patch
*** Add File: path          then lines that begin with +
*** Delete File: path
*** Update File: path       then, optionally, *** Move to: path
@@ a line of the file       where to look: after this line; several in a row narrow it down
 a line that stays
-a line that goes
+a line that comes
*** End of File             the lines above are the last of the file
*** End Patch
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count

from openclaw_workers.errors import ToolError

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
MOVE, LAST_LINES = "*** Move to: ", "*** End of File"

# The head of a hunk in a unified diff: its line numbers are not needed, the lines themselves are looked for.
_NUMBERS = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?")
_HEREDOC = re.compile(r"(?:apply_patch\s*)?<<-?\s*['\"]?(\w+)['\"]?\s*\Z")


@dataclass(slots=True)
class Chunk:
    """One change: replace the old lines by the new ones."""

    number: int
    """Where it begins in the patch."""
    contexts: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    at_end: bool = False


@dataclass(slots=True)
class AddFile:
    path: str
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class DeleteFile:
    path: str


@dataclass(slots=True)
class UpdateFile:
    path: str
    move_to: str | None = None
    chunks: list[Chunk] = field(default_factory=list)


FileChange = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> list[FileChange]:
    """Read a patch.

    Raises:
        ToolError: it names the line that is wrong and what was expected.
    """
    lines = _body(text)
    changes: list[FileChange] = []
    # Line 1 is `*** Begin Patch`.
    numbers = count(2)
    for number, line in zip(numbers, lines, strict=False):
        if line.startswith(ADD):
            changes.append(AddFile(_path(line, ADD, number)))
        elif line.startswith(DELETE):
            changes.append(DeleteFile(_path(line, DELETE, number)))
        elif line.startswith(UPDATE):
            changes.append(UpdateFile(_path(line, UPDATE, number)))
        elif changes:
            _continue(changes[-1], line, number)
        elif line.strip():
            raise ToolError(_wrong(number, line, f"{ADD}…, {DELETE}… or {UPDATE}…"))
    if not changes:
        raise ToolError("the patch changes nothing: it has no *** Add File, *** Update File or *** Delete File")
    for change in changes:
        _check(change)
    return changes


def _body(text: str) -> list[str]:
    """The lines between begin and end. Models sometimes write it as a command or in a code fence."""
    lines = text.replace("\r\n", "\n").strip().split("\n")
    if lines and (heredoc := _HEREDOC.match(lines[0])) and lines[-1].strip() == heredoc[1]:
        lines = lines[1:-1]
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    if not lines or lines[0].strip() != BEGIN:
        raise ToolError(f"the patch must begin with the line {BEGIN!r}")
    if lines[-1].strip() != END:
        raise ToolError(f"the patch must end with the line {END!r}")
    return lines[1:-1]


def _path(line: str, keyword: str, number: int) -> str:
    path = line.removeprefix(keyword).strip()
    if not path:
        raise ToolError(f"line {number} of the patch names no file after {keyword.strip()!r}")
    return path


def _continue(change: FileChange, line: str, number: int) -> None:
    """Add a line to the file change it belongs to."""
    match change:
        case AddFile():
            if not line.startswith("+"):
                raise ToolError(_wrong(number, line, "a line of the new file, which begins with +"))
            change.lines.append(line[1:])
        case DeleteFile():
            if line.strip():
                raise ToolError(_wrong(number, line, "the next file, or the end of the patch"))
        case UpdateFile():
            _continue_update(change, line, number)


def _continue_update(change: UpdateFile, line: str, number: int) -> None:
    last = change.chunks[-1] if change.chunks else None
    if line.startswith(MOVE) and last is None and change.move_to is None:
        change.move_to = _path(line, MOVE, number)
    elif line.startswith("@@"):
        if last is None or last.old or last.new:
            change.chunks.append(Chunk(number))
        context = _NUMBERS.sub("", line, count=1) if _NUMBERS.match(line) else line[2:].removeprefix(" ")
        if context.strip():
            change.chunks[-1].contexts.append(context)
    elif line.rstrip() == LAST_LINES and last is not None:
        last.at_end = True
        change.chunks.append(Chunk(number))
    # Models often drop the space of an unchanged line that is empty.
    elif line[:1] in ("", " ", "+", "-"):
        if last is None:
            last = Chunk(number)
            change.chunks.append(last)
        last.old += [] if line.startswith("+") else [line[1:]]
        last.new += [] if line.startswith("-") else [line[1:]]
    else:
        raise ToolError(_wrong(number, line, "a line that begins with a space, +, - or @@"))


def _check(change: FileChange) -> None:
    if not isinstance(change, UpdateFile):
        return
    # What follows the last lines of a file, or an empty line before the next one, is no change.
    change.chunks = [chunk for chunk in change.chunks if chunk.contexts or any(chunk.old) or any(chunk.new)]
    for chunk in change.chunks:
        if not chunk.old and not chunk.new:
            raise ToolError(f"line {chunk.number} of the patch begins a change of {change.path} that has no lines")
    if not change.chunks and change.move_to is None:
        raise ToolError(f"the patch changes nothing in {change.path}; it needs lines with - or +, or *** Move to")


def _wrong(number: int, line: str, expected: str) -> str:
    return f"line {number} of the patch is {line[:80]!r}; expected {expected}"
