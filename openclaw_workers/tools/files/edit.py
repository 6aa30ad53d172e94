"""The `edit` tool: replace one exact piece of text in a file."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field, StrictBool

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files.changes import one_change_at_a_time, read_whole, write_whole
from openclaw_workers.tools.files.paths import WorkspacePath, locate
from openclaw_workers.tools.files.text_content import decode_text

_SHOWN_LINES = 10


class EditInput(ToolInput):
    path: Annotated[str, Field(validation_alias=AliasChoices("path", "file_path"))]
    """File to change, relative to the workspace."""
    old_text: Annotated[str, Field(min_length=1, validation_alias=AliasChoices("oldText", "old_text", "old_string"))]
    """The text to replace, exactly as it is in the file, with its white space."""
    new_text: Annotated[str, Field(validation_alias=AliasChoices("newText", "new_text", "new_string"))]
    """What to put in its place; empty removes it."""
    replace_all: Annotated[StrictBool, Field(validation_alias=AliasChoices("replaceAll", "replace_all"))] = False
    """Replace every occurrence. Otherwise oldText must occur once."""


class Edit(Tool[EditInput]):
    """Replace one exact piece of text in a file of the workspace. Read the file first, and give enough of the text
    around the change that it occurs only once."""

    name = "edit"
    effect = Effect.ONCE
    input_type = EditInput

    def run(self, args: EditInput, ctx: ToolContext) -> str:
        place = locate(ctx.workspace, args.path)
        with one_change_at_a_time(place.root, ctx.cancel):
            before = read_whole(place)
            content = decode_text(before.data, place.shown)
            old, new = (text.replace("\r\n", "\n") for text in (args.old_text, args.new_text))
            if content.newline == "\n" and "\r" in content.text:
                old, new = args.old_text, args.new_text  # line ends of both kinds: they must be exact too
            if old == new:
                raise ToolError("oldText and newText are the same; nothing was changed")
            count = content.text.count(old)
            if count == 0:
                raise ToolError(_not_found(content.text, old, place))
            if count > 1 and not args.replace_all:
                raise ToolError(_ambiguous(content.text, old, count, place))
            write_whole(place, content.encode(content.text.replace(old, new)), before=before)
        line = _line_of(content.text, content.text.find(old))
        times = f"{count} places, the first" if count > 1 else "one place,"
        return f"Changed {place.shown} in {times} at line {line}."


def _line_of(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def _ambiguous(text: str, old: str, count: int, place: WorkspacePath) -> str:
    lines: list[int] = []
    index = text.find(old)
    while index >= 0 and len(lines) < _SHOWN_LINES:
        lines.append(_line_of(text, index))
        index = text.find(old, index + len(old))
    more = " …" if count > len(lines) else ""
    return (
        f"oldText occurs {count} times in {place.shown} (at lines {', '.join(map(str, lines))}{more}); nothing was "
        "changed. Give more of the text around it, or set replaceAll"
    )


def _not_found(text: str, old: str, place: WorkspacePath) -> str:
    said = f"oldText does not occur in {place.shown}; nothing was changed. "
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    lines = [line.strip() for line in text.split("\n")]
    starts = [number for number, line in enumerate(lines) if line == wanted[0]] if wanted[0] else []
    # This only makes the error more helpful. A huge file of equal lines must not make it slow.
    for start in starts[:1000]:
        if lines[start : start + len(wanted)] == wanted:
            end = start + len(wanted)
            return f"{said}Lines {start + 1} to {end} differ from it in white space only: read them and copy them"
    if starts:
        return f"{said}Its first line is at line {starts[0] + 1}, but not what follows: read the file from there"
    return f"{said}Read the file and copy the text exactly"
