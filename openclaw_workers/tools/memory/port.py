"""The interface between the memory tools and the engine. Tools import no store and no index; each turn gets a port."""

from __future__ import annotations

from typing import Literal, Protocol

from openclaw_workers.tools.memory.inputs import GetInput, SearchInput, WriteInput


class MemoryPort(Protocol):
    """What one running turn may do with its agent's memory. All results are JSON for the model."""

    def search(self, args: SearchInput) -> str:
        """Search memory files and transcripts that this session may see."""

    def get(self, args: GetInput) -> str:
        """Read lines of a memory file that this session may see."""

    def write(self, args: WriteInput) -> str:
        """Add to a memory file. Repeating a call adds nothing twice."""


def shows_citations(mode: Literal["auto", "on", "off"], *, is_group: bool) -> bool:
    return mode == "on" or (mode == "auto" and not is_group)
