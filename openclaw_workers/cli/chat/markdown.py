"""Markdown for a terminal: whole blocks are rendered while the next one still arrives."""

from __future__ import annotations

import os
import sys
from io import StringIO
from itertools import pairwise

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from openclaw_workers.cli.render.escapes import strip_escapes
from openclaw_workers.cli.render.text import has_colour

CODE_THEME = "ansi_dark"
"""Uses the colours of the terminal."""


class MarkdownBlocks:
    """Splits text that arrives in pieces into paragraphs, lists, tables and blocks of code."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark").enable("table")
        self.rest = ""
        """The block that is not complete yet."""

    def add(self, piece: str) -> list[str]:
        """The blocks that are complete now."""
        self.rest += piece
        if "\n" not in piece:
            return []  # only a line that begins can end a block
        lines = self.rest.split("\n")
        starts = [token.map[0] for token in self._parser.parse(self.rest) if token.level == 0 and token.map]
        # A block is complete only when the next one has begun.
        if len(starts) < 2:
            return []
        bounds = [0, *starts[1:]]
        self.rest = "\n".join(lines[bounds[-1] :])
        return ["\n".join(lines[first:last]) for first, last in pairwise(bounds)]

    def take_rest(self) -> str:
        rest, self.rest = self.rest, ""
        return rest


class Renderer:
    """Renders for a terminal of this many columns; without colours if they are switched off."""

    def __init__(self, columns: int) -> None:
        self._console = Console(
            file=StringIO(),
            width=columns,
            force_terminal=has_colour(sys.stdout),
            color_system="standard" if has_colour(sys.stdout) else None,
            no_color=bool(os.environ.get("NO_COLOR")),
            legacy_windows=False,
        )

    def markdown(self, text: str) -> str:
        """Wrapped at words; links are shown with their address."""
        document = Markdown(text, code_theme=CODE_THEME, hyperlinks=False)
        for child in (child for token in document.parsed for child in token.children or ()):
            if child.type == "softbreak":  # models mean the line breaks that they write
                child.type = "hardbreak"
        with self._console.capture() as captured:
            self._console.print(document)
        lines = [line.rstrip() for line in captured.get().split("\n")]
        # rich puts empty lines around blocks; the caller sets the distance.
        shown = [at for at, line in enumerate(lines) if strip_escapes(line).strip()]
        return "".join(f"{line}\n" for line in lines[shown[0] : shown[-1] + 1]) if shown else ""

    def plain(self, text: str, hanging: str = "") -> str:
        """Text without markup, wrapped at words. `hanging` stands before every line but the first."""
        # One column stays free: some terminals wrap as soon as the last one is filled.
        columns = self._console.width - 1 - len(hanging)
        lines = [line.plain.rstrip() for line in Text(text.expandtabs()).wrap(self._console, columns)]
        return f"\n{hanging}".join(lines) + "\n"

    def last_lines(self, text: str, count: int) -> list[str]:
        """The end of a plain text, wrapped at words."""
        # From the beginning of a line, so that words stay where they are while more of them come.
        end = "\n".join(text.split("\n")[-count:])
        return [line.plain.rstrip() for line in Text(end).wrap(self._console, self._console.width - 1)][-count:]
