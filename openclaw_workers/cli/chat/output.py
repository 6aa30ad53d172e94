"""A turn in the terminal of a chat: whole blocks of Markdown above the input, the unfinished one below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openclaw_workers.cli.chat.markdown import MarkdownBlocks
from openclaw_workers.cli.render.escapes import EscapeFilter

if TYPE_CHECKING:
    from openclaw_workers.cli.chat.terminal import ChatTerminal


class ChatOutput:
    """Implements `Output` of an answer."""

    is_terminal = True

    def __init__(self, terminal: ChatTerminal) -> None:
        self._terminal = terminal
        self._escapes = EscapeFilter()
        self._blocks = MarkdownBlocks()
        self._has_begun = False

    def write(self, text: str) -> None:
        blocks = self._blocks.add(self._escapes.add(text))
        self._show(blocks)

    def end_text(self) -> None:
        self._show([self._blocks.take_rest()])
        self._escapes = EscapeFilter()
        self._has_begun = False

    def line(self, text: str) -> None:
        self._terminal.note(text)

    def close(self) -> None:
        self.end_text()

    def _show(self, blocks: list[str]) -> None:
        rendered = []
        for block in blocks:
            if block.strip():
                rendered.append(("\n" if self._has_begun else "") + self._terminal.renderer.markdown(block))
                self._has_begun = True
        self._terminal.show("".join(rendered), self._blocks.rest)
