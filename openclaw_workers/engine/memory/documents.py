"""The files of an agent's memory as documents of the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw_workers.config.memory import ChunkingSettings, MemorySearchSettings
from openclaw_workers.memory.chunks import chunk_markdown
from openclaw_workers.memory.files import MemoryFile, MemoryRoots, memory_files, read_text, scope_of_file
from openclaw_workers.memory.index import Reading


@dataclass(frozen=True)
class FileDocument:
    file: MemoryFile
    chunking: ChunkingSettings
    source: str = "memory"

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def version(self) -> str:
        return self.file.version

    @property
    def time_ms(self) -> int:
        return self.file.mtime_ns // 1_000_000

    def read(self, known: Mapping[str, Any] | None) -> Reading | None:
        try:
            text = read_text(self.file)
        except OSError:
            return None
        chunks = chunk_markdown(text, tokens=self.chunking.tokens, overlap=self.chunking.overlap)
        return Reading(chunks, scope_of_file(self.file.path, text))


def roots_of(agent_id: str, workspace: Path, state_dir: Path, settings: MemorySearchSettings) -> MemoryRoots:
    return MemoryRoots(workspace, state_dir / "agents" / agent_id / "agent", agent_id, settings.extra_paths)


def file_documents(roots: MemoryRoots, chunking: ChunkingSettings) -> list[FileDocument]:
    return [FileDocument(file, chunking) for file in memory_files(roots)]
